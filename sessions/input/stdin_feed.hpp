#pragma once

#include <cstdint>
#include <optional>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/event.hpp"
#include "base/bytes/slice.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {

/// The writing end of a command's stdin. Writers take turns and wait for the command to read: nothing is queued here,
/// so a command that does not read holds up only its own writers. Reactor thread only.
class StdinFeed {
 public:
  /// `sink` is a non-blocking pipe end, or the master of the command's terminal.
  StdinFeed(Executor executor, UniqueFd sink, bool terminal);

  /// Writes all of `bytes` and returns the offset after them. With `offset`, the count of bytes written before, a
  /// repeated write skips the bytes that were already written. Errors: stdin_closed; stdin_offset_mismatch when
  /// `offset` lies ahead. A cancelled write may have written some bytes; `offset()` counts them. After `finish` a write
  /// succeeds if all of its bytes were written before.
  [[nodiscard]] Task<Result<std::uint64_t>> write(Slice bytes, std::optional<std::uint64_t> offset);

  /// Signals end of file after the bytes written before: closes the pipe, or types the terminal's end-of-file
  /// character. A pipe that it has closed before stays closed: no error either.
  [[nodiscard]] Task<Result<>> finish();

  /// Closes at once; waiting writers end with stdin_closed.
  void close();

  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] bool is_finished() const noexcept { return finished_; }  ///< by `finish`
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  class Turn;
  [[nodiscard]] Task<Result<>> put(Slice bytes, bool counted);

  boost::asio::posix::basic_stream_descriptor<Executor> sink_;
  Event changed_;
  std::uint64_t offset_ = 0;
  bool terminal_;
  bool busy_ = false;
  bool open_ = true;
  bool finished_ = false;
};

}  // namespace skiff::sessions
