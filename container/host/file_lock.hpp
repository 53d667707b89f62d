#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container {

/// Holds the lock of one name, which excludes other processes and other holders in this one. All names share one file,
/// in which each has its byte (an open file description lock, fcntl(2)). So no file needs to be removed, and the kernel
/// releases a lock when its holder dies.
class FileLock {
 public:
  /// Waits for the lock. `timeout` after `limit`.
  [[nodiscard]] static Task<Result<FileLock>> acquire(std::filesystem::path file, std::string name,
                                                      std::chrono::milliseconds limit);
  /// True if the lock of the name is held now.
  [[nodiscard]] static bool is_held(const std::filesystem::path& file, std::string_view name);

  /// A process that gets a copy of this descriptor holds the lock, too.
  [[nodiscard]] int descriptor() const noexcept { return held_.get(); }

 private:
  explicit FileLock(UniqueFd held) : held_{std::move(held)} {}
  [[nodiscard]] static Result<UniqueFd> try_lock(const std::filesystem::path& file, std::string_view name);

  UniqueFd held_;
};

}  // namespace skiff::container
