#pragma once

#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "base/task.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container {

/// Holds a lock that excludes other processes (flock(2) on a file that goes with it), so the kernel ends it whatever
/// becomes of the holder.
class FileLock {
 public:
  /// Waits for it, at most `limit`; `timeout` then. `what` is for that message: what is locked.
  [[nodiscard]] static Task<Result<FileLock>> acquire(std::filesystem::path file, std::chrono::milliseconds limit,
                                                      std::string what);
  /// Whether somebody holds it now.
  [[nodiscard]] static bool is_held(const std::filesystem::path& file);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::filesystem::path file, UniqueFd held) : file_{std::move(file)}, held_{std::move(held)} {}
  [[nodiscard]] static Result<UniqueFd> try_lock(const std::filesystem::path& file);

  std::filesystem::path file_;
  UniqueFd held_;
};

}  // namespace skiff::container
