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
  std::string prefix = {};  ///< path of the directory, the prefix of all paths in events
  bool recursive = false;
  std::size_t most_directories = 8192;  ///< directories watched at once; the kernel has its own limit per user
  std::size_t most_events = 8192;       ///< events kept for clients that reconnect
  std::uint64_t first_cursor = 1;
  std::chrono::milliseconds hold{20};  ///< how long the first half of a rename waits for the second
  /// Opens the directory again by its path, to check whether it is still there; empty: no check. Called when the
  /// directory, or one of the `levels_above` directories above it, was renamed.
  std::function<Result<UniqueFd>()> find_again = {};
  std::size_t levels_above = 0;
};

/// Watches a directory. The owner polls `fd()` in its reactor and calls `drain()` when it is readable and when
/// `deadline()` has come; then `after()` returns the new events. Links are not followed. One thread at a time; `open`
/// and `drain` block on the disk when there are new directories.
///
/// Files with a temporary name (fs/path/temporary_name.hpp) cause no events. When the agent renames such a file to its
/// final name, it is `created`, or `modified` if it replaces a file. A directory that its path no longer leads to
/// counts as deleted.
///
/// The contents that a new directory had before it could be watched are reported as `created`. `overflow` reports that
/// the kernel dropped events, or, with the path of the directory, that a directory could not be watched. The
/// directories are then scanned again, so that no later change is missed.
class Watch {
 public:
  using Clock = WatchLog::Clock;

  /// Errors: `resource_exhausted` when there are more directories than allowed, or the kernel refuses more watches or
  /// instances.
  [[nodiscard]] static Result<Watch> open(UniqueFd directory, const WatchOptions& options, const std::stop_token& stop);
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;

  [[nodiscard]] int fd() const noexcept;
  /// Reads events from the kernel. Returns true when there are more: call it again.
  [[nodiscard]] Result<bool> drain(Clock::time_point now = Clock::now());
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  /// Returns up to `most` events after that cursor; see `WatchLog::after`.
  [[nodiscard]] std::vector<WatchEvent> after(std::uint64_t cursor, std::size_t most) const;
  [[nodiscard]] std::uint64_t newest() const noexcept;
  /// Whether the directory itself is gone: no more events come.
  [[nodiscard]] bool ended() const noexcept;

 private:
  struct State;
  explicit Watch(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::fs
