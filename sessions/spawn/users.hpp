#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"

namespace skiff::sessions {

/// The user that a command runs as.
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name;   ///< the uid as text when passwd has no entry
  std::string home;   ///< "/" when passwd has no entry
  std::string shell;  ///< "/bin/sh" when passwd has no entry
};

/// Looks up "name", "uid", "name:group" or "uid:gid" in /etc/passwd and /etc/group, by reading these files (passwd(5),
/// group(5)), because getpwnam(3) does not work in a static binary. A number without an entry is accepted. Without a
/// group the result includes the user's supplementary groups; with one, that is the only group, as for USER in an
/// image. Errors: user_not_found. `etc` is the directory of both files.
[[nodiscard]] Result<Credentials> look_up_user(const std::string& user, const std::filesystem::path& etc = "/etc");

/// Whether the user may create files in "/", which container runtimes set as the home of a user without an entry.
[[nodiscard]] bool may_write_to_root(const Credentials& user);

/// The agent's own credentials.
[[nodiscard]] Credentials current_user(const std::filesystem::path& etc = "/etc");

/// The agent's own credentials as of the last `look`, which reads passwd again only when the file has changed.
class UserOfLastLook {
 public:
  explicit UserOfLastLook(std::filesystem::path etc = "/etc");
  [[nodiscard]] std::shared_ptr<const Credentials> get() const noexcept { return user_; }
  void look();

 private:
  std::filesystem::path etc_;
  std::string passwd_;
  struct stat file_{};
  std::shared_ptr<const Credentials> user_;
};

/// The user that the agent runs as, and with it commands that name none. Reactor thread only.
class CurrentUser {
 public:
  /// Looks run on `threads` and are owned by `tasks`; both must outlive this.
  CurrentUser(BlockingPool& threads, TaskGroup& tasks) : threads_{threads}, tasks_{tasks} {}

  /// Returns the user as of the last look. If that is a second old, it begins another one and does not wait for it.
  [[nodiscard]] std::shared_ptr<const Credentials> get();

 private:
  [[nodiscard]] Task<> look();

  BlockingPool& threads_;
  TaskGroup& tasks_;
  UserOfLastLook user_;
  SteadyTime looked_at_ = std::chrono::steady_clock::now();
  std::size_t looks_ = 0;  ///< looks that run; at most one
};

}  // namespace skiff::sessions
