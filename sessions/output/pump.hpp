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

/// Carries what comes out of one pipe or terminal into a log, by reads of up to a segment, until its end. Reactor
/// thread only.
class OutputPump {
 public:
  /// `source` is non-blocking. `progress` is notified at the end of the pipe and when the leader's bytes are in.
  OutputPump(Executor executor, UniqueFd source, Stream stream, std::shared_ptr<OutputLog> log, Event& progress,
             Turns& turns);

  /// Runs until end of file. A terminal's EIO counts as its end.
  [[nodiscard]] Task<> run();

  /// The leader has ended: what is in the pipe now is still its own, what comes later need not be waited for.
  void leader_ended();
  /// From now on bytes are marked late (the exit record has been written).
  void mark_late() noexcept { late_ = true; }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  /// At its end, and not given up before.
  [[nodiscard]] bool complete() const noexcept { return at_end_ && !abandoned_; }
  /// True when everything that was in the pipe at `leader_ended()` has been read.
  [[nodiscard]] bool leader_drained() const noexcept { return at_end_ || left_of_leader_ <= 0; }
  /// Of the pipe; 0 once it is closed.
  [[nodiscard]] ino_t inode();
  /// Gives the pipe up, and with it what is still to come: it is at its end. For processes that can't be ended.
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
