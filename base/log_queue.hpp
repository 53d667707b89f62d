#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace skiff {

/// Lines on their way to a descriptor, which a thread of its own writes: a pipe that nobody reads, or a slow disk,
/// holds up nobody who logs. What waits is bounded: beyond that lines are lost, counted, and told of by a line of their
/// own behind the next ones that get through. Lines that come close together go together.
class LogQueue {
 public:
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20U;  ///< bytes
  static constexpr std::chrono::milliseconds kPatience{1000};

  /// A line, with its end, that says how many were lost.
  using TellLost = std::string (*)(std::uint64_t lines);

  /// The descriptor is not owned. Throws std::system_error when the system has no thread to give.
  LogQueue(int fd, TellLost tell_lost, std::size_t most_waiting = kMostWaiting);
  /// Writes what waits, for at most `kPatience`: what the descriptor has not taken by then is lost.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  /// `line` ends with a newline. `urgent`: it is written as soon as the descriptor takes it, else within `kGather`.
  /// Callable from any thread; never blocks.
  void put(std::string_view line, bool urgent) noexcept;
  /// Waits until what was put so far is written, at most for `kPatience`.
  void flush() noexcept;

  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  static constexpr std::chrono::milliseconds kGather{50};
  struct State;
  std::shared_ptr<State> state_;  ///< the thread's, too, which may still be in a write when this object is gone
  std::thread writer_;
};

}  // namespace skiff
