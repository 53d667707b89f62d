#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "sessions/process/cgroup_directory.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

/// The memory use of the container's cgroup, in bytes.
struct MemoryUse {
  std::uint64_t used = 0;   ///< the working set as kubelet computes it: usage minus the inactive file cache
  std::uint64_t limit = 0;  ///< 0: no limit

  [[nodiscard]] double share() const noexcept {
    return limit == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(limit);
  }
};

/// Reads the memory use of the cgroup that this process is in, version 1 or 2 (the first one that has a memory
/// controller).
class MemoryGauge {
 public:
  /// `root` is a prefix for /proc and /sys/fs/cgroup, for tests.
  explicit MemoryGauge(const std::filesystem::path& root = "/");

  /// The use of this cgroup or of one above it, whichever is nearest to its limit. Empty when no memory controller is
  /// mounted.
  [[nodiscard]] std::optional<MemoryUse> read() const;
  /// The number of processes that the OOM killer has killed in this cgroup. Empty when the kernel does not count them.
  [[nodiscard]] std::optional<std::uint64_t> oom_kills() const;

 private:
  std::optional<CgroupDirectory> directory_;
};

/// Keeps the OOM killer from ending the agent together with its commands (kubelet sets memory.oom.group). It reads the
/// memory use while commands live, every `slowest` when there is plenty and up to every `fastest` when it gets scarce.
/// It calls its owner when `percent` of the limit is reached, so that the owner can end the largest command. Reactor
/// thread only; the reads run on another thread.
class MemoryGuard {
 public:
  struct Options {
    unsigned percent = 95;  ///< 1..100
    std::chrono::milliseconds slowest{1000};
    std::chrono::milliseconds fastest{50};
  };
  /// `reached` is called on the reactor after each look that finds `percent` reached. A command that it ends may need
  /// several looks to free its memory, so it must not end a second one before the first is gone. `thread` reads the
  /// files, and outlives the guard.
  MemoryGuard(Executor executor, BlockingPool& thread, MemoryGauge gauge, Options options,
              std::function<void(MemoryUse)> reached);
  ~MemoryGuard();
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;

  /// Looks at once, and then again and again until `stop()`. Does nothing when already started; the first look stops
  /// the guard if there is no limit.
  void start();
  void stop();

  /// The time until the next look. It shrinks with the free memory, so that a fast writer cannot use it up between two
  /// looks.
  [[nodiscard]] static std::chrono::milliseconds period(MemoryUse use, const Options& options) noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The resident memory of all processes of each tree, in bytes, in one pass over /proc. Shared pages count once for
/// each process.
[[nodiscard]] std::vector<std::uint64_t> memory_of_each(const std::vector<Tree>& trees);

}  // namespace skiff::sessions
