#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// While it lives, new files of this thread belong to that user and group from the start. Setting the owner afterwards
/// would go by name, and a user who may rename in that directory would choose the object. The rights of the agent do
/// not change, only the owner of new files (setfsuid(2)). For one thread, which must not create files for the agent
/// itself meanwhile.
class MadeFor {
 public:
  /// Errors: permission_denied where the agent may not act for others, and within another one's time for anybody else.
  /// `path` is for the message.
  [[nodiscard]] static Result<MadeFor> begin(uid_t uid, gid_t gid, std::string_view path);
  MadeFor(MadeFor&& other) noexcept : uid_{other.uid_}, gid_{other.gid_}, acts_{std::exchange(other.acts_, false)} {}
  MadeFor& operator=(MadeFor&&) = delete;
  ~MadeFor();

 private:
  MadeFor(uid_t uid, gid_t gid) noexcept : uid_{uid}, gid_{gid} {}

  uid_t uid_;  ///< the agent's own ids
  gid_t gid_;
  bool acts_ = true;
};

/// For whom a change is that the agent makes, when that is another user than the agent's.
struct Asker {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
};

/// For as long as it lives, this thread may do to files what that user may, and nothing else: the kernel refuses the
/// rest. What it makes is the user's. One thread, as MadeFor; one of these that begins meanwhile gives no right back.
class ActingAs {
 public:
  /// Errors: permission_denied where the agent may not act for others, and for the agent's own user, who has no lesser
  /// rights. `path` is for the message.
  [[nodiscard]] static Result<ActingAs> begin(const Asker& asker, std::string_view path);
  ActingAs(ActingAs&& other) noexcept
      : uid_{other.uid_},
        gid_{other.gid_},
        groups_{std::move(other.groups_)},
        rights_{other.rights_},
        acts_{std::exchange(other.acts_, false)} {}
  ActingAs& operator=(ActingAs&&) = delete;
  ~ActingAs();

 private:
  ActingAs(uid_t uid, gid_t gid, std::vector<gid_t> groups, std::uint64_t rights) noexcept
      : uid_{uid}, gid_{gid}, groups_{std::move(groups)}, rights_{rights} {}

  // The agent's.
  uid_t uid_;
  gid_t gid_;
  std::vector<gid_t> groups_;
  std::uint64_t rights_;  ///< capabilities(7), the effective ones
  bool acts_ = true;
};

/// Makes a directory that is this thread's user's alone, and opens it. What has the name a moment later may be another
/// directory, which somebody has put there: only the new one is given, and nobody else gets into it. Fails with errno
/// set: EAGAIN when another one was found.
[[nodiscard]] UniqueFd create_private_directory(int directory, const std::string& name);

/// Sets access and modification time of a link that this thread's user has just created, and of no other object that
/// may have the name by now. Failures are ignored.
void set_link_times(int directory, const std::string& name, std::span<const timespec, 2> times);

}  // namespace skiff::fs
