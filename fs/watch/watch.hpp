#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/watch/log.hpp"

namespace skiff::fs {

struct WatchOptions {
  std::string prefix = {};  ///< the path of the directory, which that of each event begins with
  bool recursive = false;
  std::size_t most_directories = 8192;  ///< watched at once; the kernel has its own bound for all of a user
  std::size_t most_events = 8192;       ///< kept for those who come back
  std::uint64_t first_cursor = 1;
  std::chrono::milliseconds hold{20};  ///< how long the first half of a rename waits for the second
  /// Opens the directory once more by its path, to learn whether it is still there; none: it is not looked for. It is
  /// asked when the directory was renamed, or one of the `levels_above` it.
  std::function<Result<UniqueFd>()> find_again = {};
  std::size_t levels_above = 0;
};

/// Watches a directory. The owner polls `fd()` in its reactor and calls `drain()` when it is readable and when
/// `deadline()` has come; then `after()` has the news. Links are not followed. One thread at a time; `open` and `drain`
/// block on the disk when there are new directories.
///
/// What has a temporary name (fs/path/temporary_name.hpp) is not told of: a file that the agent puts in its place is
/// created, or modified where there was one. A directory that is found by its path no more is gone: its end is told.
///
/// What was in a new directory before it could be watched is told as created. When the kernel drops events (or a
/// directory can't be watched any more: then the event has its path), `overflow` says so; the directories are then
/// looked through again, so that nothing that happens from there on is missed.
class Watch {
 public:
  using Clock = WatchLog::Clock;

  /// `resource_exhausted` when there are more directories than allowed, or the kernel gives no more watches or
  /// instances.
  [[nodiscard]] static Result<Watch> open(UniqueFd directory, const WatchOptions& options, const std::stop_token& stop);
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;

  [[nodiscard]] int fd() const noexcept;
  /// Takes what the kernel has to tell. True when there is more: call it again.
  [[nodiscard]] Result<bool> drain(Clock::time_point now = Clock::now());
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  /// Up to `most` events after that cursor; see `WatchLog::after`.
  [[nodiscard]] std::vector<WatchEvent> after(std::uint64_t cursor, std::size_t most) const;
  [[nodiscard]] std::uint64_t newest() const noexcept;
  /// The directory itself is gone: nothing will come any more.
  [[nodiscard]] bool ended() const noexcept;

 private:
  struct State;
  explicit Watch(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::fs
