#pragma once

#include <sys/types.h>

#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// For as long as it lives, what this thread makes belongs to that user and group from its first moment on. An owner
/// that is set afterwards would be set by a name, and whoever may rename in that directory would choose what has it.
/// The rights of the agent stay as they are: only whose things are made changes (setfsuid(2)). One thread, and no
/// other file is touched meanwhile that shall be the agent's.
class MadeFor {
 public:
  /// Errors: permission_denied where the agent may not act for others. `path` is for the message.
  [[nodiscard]] static Result<MadeFor> begin(uid_t uid, gid_t gid, std::string_view path);
  MadeFor(MadeFor&& other) noexcept : uid_{other.uid_}, gid_{other.gid_}, acts_{std::exchange(other.acts_, false)} {}
  MadeFor& operator=(MadeFor&&) = delete;
  ~MadeFor();

 private:
  MadeFor(uid_t uid, gid_t gid) noexcept : uid_{uid}, gid_{gid} {}

  uid_t uid_;  ///< the agent's
  gid_t gid_;
  bool acts_ = true;
};

/// Makes a directory that is this thread's user's alone, and opens it. What has the name a moment later may be another
/// directory, which somebody has put there: only the new one is given, and nobody else gets into it. Fails with errno
/// set: EAGAIN when another one was found.
[[nodiscard]] UniqueFd make_private_directory(int directory, const std::string& name);

/// Sets access and modification time of a link that this thread's user has just made: of nothing else that may have its
/// name by now. Times are worth no error.
void set_link_times(int directory, const std::string& name, std::span<const timespec, 2> times);

}  // namespace skiff::fs
