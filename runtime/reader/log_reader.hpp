#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "base/async/task.hpp"
#include "runtime/reader/log_watch.hpp"
#include "sessions/output/fair_scheduler.hpp"
#include "sessions/output/log.hpp"

namespace skiff::runtime {

/// Reads a command's log for a client:
///
///     while (!reader.over()) {
///       const Wake wake = co_await reader.ready();
///       ...                                         // handle other events
///       while (auto item = reader.next()) ...       // no copy: items share the log's segments
///       ...                                         // send it
///     }
///
/// Readers take turns, so that a thousand of them do not block other work. Reactor thread only.
class LogReader : public LogWatch {
 public:
  struct Options {
    std::uint64_t from = 0;
    std::optional<sessions::Stream> only = {};
    bool lossless = false;   ///< the command waits for this reader, so that no bytes are lost
    bool follow = true;      ///< read until the command's exit; else to the log's current end
    bool until_end = false;  ///< read until every pipe is at its end
    std::uint64_t limit_bytes = std::numeric_limits<std::uint64_t>::max();  ///< most bytes of output
    LogWatch::Options watch = {};
  };
  LogReader(sessions::Turns& turns, std::shared_ptr<sessions::OutputLog> log, Options options);

  /// Waits for this reader's turn. If `next` returned nothing last, it first waits until the log has changed or another
  /// event has happened. `holding`: the caller holds back a part of an item, such as half a character.
  [[nodiscard]] Task<Wake> ready(bool holding = false);
  /// The next item of this turn, with at most `most` bytes of output. Empty when the turn is over, or when the log has
  /// nothing more at the moment.
  [[nodiscard]] std::optional<sessions::LogItem> next(std::size_t most = std::numeric_limits<std::size_t>::max());

  /// True after the last item.
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// True when the log had nothing more at the last call of `next`.
  [[nodiscard]] bool dry() const noexcept { return dry_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return cursor_.offset(); }
  /// Continues reading at `offset`, also an earlier one.
  void rewind(std::uint64_t offset);

 private:
  sessions::Turns& turns_;
  sessions::Cursor::Options where_;
  sessions::Cursor cursor_;
  std::uint64_t stop_at_;
  std::uint64_t left_;     ///< bytes of output until the limit
  std::size_t share_ = 0;  ///< bytes of output until the turn is over
  bool until_end_;
  bool dry_ = false;
  bool over_ = false;
};

}  // namespace skiff::runtime
