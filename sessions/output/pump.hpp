#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/event.hpp"
#include "base/unique_fd.hpp"
#include "sessions/output/fair_scheduler.hpp"
#include "sessions/output/log.hpp"

namespace skiff::sessions {

/// Reads one pipe or terminal into a log until its end, up to a segment at a time. Reactor thread only.
class OutputPump {
 public:
  /// `source` is non-blocking. `progress` is notified at the end of the pipe, when the leader's bytes have been read,
  /// and when the log overflows.
  OutputPump(Executor executor, UniqueFd source, Stream stream, std::shared_ptr<OutputLog> log, Event& progress,
             Turns& turns);

  /// Runs until end of file. A terminal's EIO counts as its end.
  [[nodiscard]] Task<> run();

  /// Bytes that are in the pipe now.
  [[nodiscard]] std::uint64_t waiting();
  /// Notes that the leader has ended: the bytes in the pipe now are still the leader's; later bytes need not be
  /// awaited.
  void leader_ended();
  /// From now on bytes are marked late (the exit record has been written).
  void mark_late() noexcept { late_ = true; }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  /// True at the end of the pipe, unless it was abandoned.
  [[nodiscard]] bool complete() const noexcept { return at_end_ && !abandoned_; }
  /// True when everything that was in the pipe at `leader_ended()` has been read.
  [[nodiscard]] bool leader_drained() const noexcept { return at_end_ || left_of_leader_ <= 0; }
  /// Inode of the pipe; 0 once it is closed.
  [[nodiscard]] ino_t inode();
  /// Closes the pipe and loses what is still to come: for processes that cannot be ended.
  void abandon();

 private:
  boost::asio::posix::basic_stream_descriptor<Executor> source_;
  Stream stream_;
  std::shared_ptr<OutputLog> log_;
  Event& progress_;
  Turns& turns_;
  std::int64_t left_of_leader_ = 0;
  bool enlarged_ = false;
  bool late_ = false;
  bool at_end_ = false;
  bool abandoned_ = false;
};

}  // namespace skiff::sessions
