#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/bytes/slice.hpp"
#include "base/clock.hpp"
#include "sessions/output/counts.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::sessions {

enum class Stream : std::uint8_t { out = 1, err = 2 };

/// The action when a command writes more than its log may keep.
enum class Overflow : std::uint8_t {
  automatic,  ///< wait while there is a lossless reader, else keep the head and the newest bytes
  drop,       ///< never wait: keep the head and the newest bytes
  block,      ///< wait, also while there is no lossless reader yet
  kill,       ///< ask for the end of the command's tree (`overflowed()` turns true)
};

/// The memory and disk that all logs share. When the memory is used up, output is evicted in this order: the tails of
/// ended logs (what follows the head), the earliest end first; the tails of running logs, the largest first; the heads
/// of ended logs. Bytes that a lossless reader has yet to read are never evicted: the producer waits. Outlives all
/// logs. Reactor thread only.
class OutputBudget {
 public:
  struct Limits {
    std::size_t memory_bytes;       ///< for all logs together
    std::filesystem::path spool;    ///< directory for output that no longer fits in memory; empty: none
    std::uint64_t spool_bytes = 0;  ///< quota for all logs together
    std::chrono::milliseconds lossless_patience{
        30'000};  ///< a lossless reader that reads nothing for this long loses that right
  };
  OutputBudget(Executor executor, BlockingPool& disk, Limits limits);
  ~OutputBudget();
  OutputBudget(const OutputBudget&) = delete;
  OutputBudget& operator=(const OutputBudget&) = delete;

  [[nodiscard]] std::size_t memory_used() const noexcept;
  [[nodiscard]] std::uint64_t spool_used() const noexcept;
  [[nodiscard]] const OutputCounts& counts() const noexcept;
  /// Ends when nothing is being written to disk. Await it before the destructor; it waits only with a spool.
  [[nodiscard]] Task<> drain();

  struct State;

 private:
  friend class OutputLog;
  std::unique_ptr<State> state_;
};

/// One step of a log as a reader sees it. `offset` counts the bytes of both streams together, from 0.
struct LogItem {
  enum class Kind : std::uint8_t { output, gap, exit, end };
  Kind kind = Kind::output;
  std::uint64_t offset = 0;  ///< of the first byte
  std::uint64_t next = 0;    ///< offset after this item
  Stream stream = Stream::out;
  bool late = false;  ///< written after the leader had ended
  WallTime time{};
  Slice bytes;  ///< kind output: `next - offset` contiguous bytes of one stream
};

/// Both streams' totals, known when every pipe is at its end.
struct OutputTotals {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
  std::string out_sha256;  ///< lower-case hex; empty without `Options::checksum`
  std::string err_sha256;
};

/// The append-only log of a command's output and its end. It has one producer and any number of cursors, each at its
/// own offset. Only a lossless cursor can make the producer wait. Reading copies no bytes: items share the log's
/// segments. Reactor thread only. Held by shared_ptr: a log lives as long as a reader.
class OutputLog : public std::enable_shared_from_this<OutputLog> {
 public:
  struct Options {
    std::size_t keep_bytes;  ///< kept in memory; at least 128 KiB, including the head of 64 KiB
    Overflow overflow = Overflow::automatic;
    bool checksum = false;
  };
  static constexpr std::size_t kHeadBytes = 64 * 1024;

  OutputLog(Executor executor, OutputBudget& budget, Options options);
  ~OutputLog();
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;

  // --- the producer ---

  /// Room for one `append`. Do not suspend between the two calls: the room may be a block that all logs share, so that
  /// a log without output needs no memory. At most 256 KiB; 64 KiB when `keep_bytes` is below 2 MiB.
  [[nodiscard]] std::span<char> prepare();
  /// Appends the first `size` bytes of the room to the output of `stream`.
  void append(Stream stream, std::size_t size, bool late);
  /// True while the producer must leave bytes in the pipe (see `Overflow`).
  [[nodiscard]] bool must_wait() const noexcept;
  /// True when the producer must wait and no reader can end the wait: `block` without a lossless reader.
  [[nodiscard]] bool waits_for_nobody() const noexcept;
  /// Ends when `must_wait()` no longer holds.
  [[nodiscard]] Task<> room();
  /// True once `Overflow::kill` asks for the command's end.
  [[nodiscard]] bool overflowed() const noexcept;
  /// Stops all waiting for good: the command is being killed, and its last bytes must drain.
  void stop_waiting();
  /// Appends the `exit` record. Once.
  void exit(ExitStatus status);
  /// Appends the `end` record: no byte follows. Once, after `exit`.
  void end();

  // --- for every caller ---

  [[nodiscard]] std::uint64_t first_kept() const noexcept;  ///< smallest offset that is not in a gap
  [[nodiscard]] std::uint64_t next_offset() const noexcept;
  [[nodiscard]] std::uint64_t bytes_of(Stream stream) const noexcept;
  [[nodiscard]] const std::optional<ExitStatus>& exit_status() const noexcept;
  [[nodiscard]] bool ended() const noexcept;
  [[nodiscard]] OutputTotals totals() const;
  [[nodiscard]] SteadyTime last_output() const noexcept;  ///< when a byte last came; construction time before that
  /// Ends when the exit record is there.
  [[nodiscard]] Task<> exited();
  /// Ends when the log has changed since the call (bytes, exit or end), or at `wake()`.
  [[nodiscard]] Task<> changed();
  /// Ends the waits of readers (`Cursor::ready`, `changed`) although the log has not changed, for readers that also
  /// wait for something else.
  void wake();

  struct State;

 private:
  friend class Cursor;
  std::unique_ptr<State> state_;
};

/// A reader's position in a log.
class Cursor {
 public:
  struct Options {
    std::uint64_t from = 0;  ///< beyond the end: waits until the log gets there
    std::optional<Stream> only;
    bool lossless = false;
  };
  Cursor(std::shared_ptr<OutputLog> log, Options options);
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  /// The next item if it is in memory, with at most `max_bytes` (>= 1) of output. An `exit` item comes once, an `end`
  /// item once and last. The other stream's bytes are skipped without a gap when `only` is set.
  [[nodiscard]] std::optional<LogItem> next(std::size_t max_bytes);
  /// Ends when `next` may return an item: after an append, or when bytes were read back from disk.
  [[nodiscard]] Task<> ready();
  /// True once `next` has returned the `end` item.
  [[nodiscard]] bool finished() const noexcept;
  [[nodiscard]] std::uint64_t offset() const noexcept;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace skiff::sessions
