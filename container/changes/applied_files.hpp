#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>

#include "base/error.hpp"

namespace skiff::container::changes {

/// Tells what somebody else has changed in a directory since a sandbox has it. A file's ctime cannot be set. What
/// `apply` writes has a new one, too, so it is remembered here, by inode and ctime, in a file out of the sandbox's
/// reach.
class AppliedFiles {
 public:
  /// `since_ns` is the time from which on a change counts, in nanoseconds since 1970. A missing file is an empty
  /// record.
  [[nodiscard]] static Result<AppliedFiles> load(std::filesystem::path file, std::int64_t since_ns);
  /// Does nothing if nothing is new.
  [[nodiscard]] Result<> save();

  /// True if the file or directory has changed, and not by `apply` alone.
  [[nodiscard]] bool is_changed(const struct stat& status) const;
  /// It is as `apply` has left it.
  void note(const struct stat& status);
  /// It was replaced or removed.
  void forget(const struct stat& status);

 private:
  std::filesystem::path file_;
  std::int64_t since_ns_ = 0;
  std::map<std::uint64_t, std::int64_t> ctimes_;  ///< by inode
  bool has_news_ = false;
};

}  // namespace skiff::container::changes
