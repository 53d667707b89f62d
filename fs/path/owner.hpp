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

/// While it lives, new files of this thread belong to that user and group from the start. Setting the owner afterwards
/// would go by name, and a user who may rename in that directory would choose the object. The rights of the agent do
/// not change, only the owner of new files (setfsuid(2)). For one thread, which must not create files for the agent
/// itself meanwhile.
class MadeFor {
 public:
  /// Errors: permission_denied if the agent may not act for other users. `path` is for the message.
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

/// Creates a directory that only this thread's user may use, and opens it. Another process may replace the name in
/// between; then this fails, so only the new directory is returned. Fails with errno set: EAGAIN when another directory
/// was found.
[[nodiscard]] UniqueFd make_private_directory(int directory, const std::string& name);

/// Sets access and modification time of a link that this thread's user has just created, and of no other object that
/// may have the name by now. Failures are ignored.
void set_link_times(int directory, const std::string& name, std::span<const timespec, 2> times);

}  // namespace skiff::fs
