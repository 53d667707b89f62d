#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace skiff {

/// Lines on their way to a descriptor. A thread of its own writes them, so a pipe that no process reads, or a slow
/// disk, never blocks a caller. The queue is bounded: further lines are dropped and counted, and a line of their own
/// reports their number after the next lines that are written. Lines that come close together are written together.
class LogQueue {
 public:
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20U;  ///< bytes
  static constexpr std::chrono::milliseconds kPatience{1000};

  /// Formats a line, with its end, that reports how many lines were lost.
  using TellLost = std::string (*)(std::uint64_t lines);

  /// The descriptor is not owned. Throws std::system_error when the system refuses a thread.
  LogQueue(int fd, TellLost tell_lost, std::size_t most_waiting = kMostWaiting);
  /// Writes the lines that wait, for at most `kPatience`; the rest is lost.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  /// `line` ends with a newline. An `urgent` line is written at once, another one within `kGather`. Thread-safe; never
  /// blocks.
  void put(std::string_view line, bool urgent) noexcept;
  /// Waits until all lines so far are written, at most for `kPatience`.
  void flush() noexcept;

  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  static constexpr std::chrono::milliseconds kGather{50};
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may still be in a write when this object is gone
  std::thread writer_;
};

}  // namespace skiff
