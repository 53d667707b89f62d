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

/// What the container's memory controller says, in bytes.
struct MemoryUse {
  std::uint64_t used = 0;   ///< the working set, as kubelet reckons it: usage less the inactive file cache
  std::uint64_t limit = 0;  ///< 0: none

  [[nodiscard]] double share() const noexcept {
    return limit == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(limit);
  }
};

/// Reads the memory use of the cgroup that this process is in, version 1 or 2 (the first one that has a memory
/// controller).
class MemoryGauge {
 public:
  /// `root` is put before /proc and /sys/fs/cgroup: for tests.
  explicit MemoryGauge(const std::filesystem::path& root = "/");

  /// Of this cgroup or one above it: whichever is nearest to its limit. Nothing where no memory controller is mounted.
  [[nodiscard]] std::optional<MemoryUse> read() const;
  /// How many processes the kernel has killed here for lack of memory. Nothing where it doesn't count them.
  [[nodiscard]] std::optional<std::uint64_t> oom_kills() const;

 private:
  std::optional<CgroupDirectory> directory_;
};

/// Keeps the container's OOM killer from ending the agent with its commands (kubelet sets memory.oom.group): looks at
/// the memory's use while commands live, each second when there is plenty and up to each 50 ms when it gets scarce, and
/// calls its owner when `percent` of the limit is reached, so that the largest command can be ended. Reactor thread
/// only; the looks are made by another one.
class MemoryGuard {
 public:
  struct Options {
    unsigned percent = 95;  ///< 1..100
    std::chrono::milliseconds slowest{1000};
    std::chrono::milliseconds fastest{50};
  };
  /// `reached` is called from the reactor at each look that finds the limit reached; what it ended may need several
  /// looks to give its memory back, so it must not end a second command while the first is still going. `thread` looks,
  /// and outlives the guard.
  MemoryGuard(Executor executor, BlockingPool& thread, MemoryGauge gauge, Options options,
              std::function<void(MemoryUse)> reached);
  ~MemoryGuard();
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;

  /// Looks at once, then goes on looking until `stop()`. Does nothing where there is no limit, or when already started.
  void start();
  void stop();

  /// How long until the next look: shorter as the part that is free shrinks, so that a fast writer can't use it up
  /// between.
  [[nodiscard]] static std::chrono::milliseconds period(MemoryUse use, const Options& options) noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The resident memory of all processes of each tree, in bytes, in one pass over /proc. Shared pages count once a
/// process.
[[nodiscard]] std::vector<std::uint64_t> memory_of_each(const std::vector<Tree>& trees);

}  // namespace skiff::sessions
