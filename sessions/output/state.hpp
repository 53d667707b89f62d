#pragma once

#include <limits>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "base/async/event.hpp"
#include "base/bytes/sha.hpp"
#include "sessions/output/log.hpp"
#include "sessions/output/store.hpp"

/// The private state of the classes of log.hpp; only their own files include this.
namespace skiff::sessions {

inline constexpr std::uint64_t kNothingPinned = std::numeric_limits<std::uint64_t>::max();

struct OutputLog::State : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  State(Executor executor_of_log, OutputBudget::State& budget_of_log, Options options_of_log);

  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Bytes from this offset on may not be dropped: the least offset of a lossless reader.
  [[nodiscard]] std::uint64_t pinned() const noexcept;
  [[nodiscard]] bool may_wait() const noexcept { return !stopped && options.overflow != Overflow::drop; }
  [[nodiscard]] bool must_wait() const noexcept;
  /// Drops, or writes to disk, the bytes above the log's own memory limit.
  void retain();
  void wake_producer();

  void join(Cursor::State& reader);
  void leave(Cursor::State& reader);
  /// Called when a lossless reader has moved on from `before`.
  void advanced(std::uint64_t before);
  /// Takes the right from lossless readers that read nothing for `lossless_patience`. Returns the time until the next
  /// check.
  [[nodiscard]] std::chrono::milliseconds lapse();

  Executor executor;
  OutputBudget::State& budget;
  const Options options;
  std::shared_ptr<OutputStore> store;  // null before the first byte
  std::uint64_t next = 0;
  std::uint64_t of_err = 0;
  std::uint64_t exit_at = 0;
  std::optional<ExitStatus> exit_status;
  std::vector<Cursor::State*> lossless;  // readers with the right to make the producer wait
  std::uint64_t left_at = 0;             // offset of the last lossless reader when it left
  mutable std::uint64_t least = 0;
  mutable bool least_known = false;
  bool ended = false;
  bool stopped = false;
  bool overflowed = false;
  bool disk_is_behind = false;
  unsigned producers_waiting = 0;
  std::uint64_t wakes = 0;
  SteadyTime waits_since{};
  SteadyTime last_output;
  struct Checksums {
    Sha256 out;
    Sha256 err;
  };
  std::unique_ptr<Checksums> checksums;
  Event changed;
  Event exited;
  Event room;
};

struct OutputBudget::State {
  State(Executor executor_of_budget, BlockingPool& disk, Limits limits_of_budget);

  /// Stores call these as their memory grows and shrinks. `leaving` counts memory that is freed once it is on disk.
  void hold(std::size_t bytes) noexcept { held += bytes; }
  void release(std::size_t bytes);
  [[nodiscard]] bool over() const noexcept { return held > limits.memory_bytes + leaving; }
  /// Makes logs give up memory until the limit holds or none can: first the tails of ended logs, the earliest end
  /// first; then the largest tails of running logs; at last the heads of ended logs.
  void enforce();
  /// Calls `enforce` after `grown` took some bytes and nothing else changed. When no log could give anything before, it
  /// returns at once unless `grown` can.
  void enforce_for(const OutputLog::State& grown);
  /// Called when an allocation failed: lowers the memory limit by a quarter of what is held, so that other allocations
  /// succeed.
  void out_of_memory();
  /// Called after memory or the disk's queue shrank: lets producers go on.
  void relieved();

  Limits limits;
  std::shared_ptr<SegmentPool> segments = std::make_shared<SegmentPool>();
  std::shared_ptr<Spool> spool;
  OutputCounts counts;
  std::size_t held = 0;
  std::size_t leaving = 0;
  bool nothing_to_give = false;  ///< no log can give up memory; reset when a log ends or stops waiting
  using Logs = boost::intrusive::list<OutputLog::State, boost::intrusive::constant_time_size<false>>;
  Logs live;
  Logs over_with;  // ended, in the order of their ends
};

struct Cursor::State {
  [[nodiscard]] std::optional<LogItem> step(std::size_t max_bytes);
  /// Like `OutputStore::find` at `offset`, but also returns a chunk that was read back from disk.
  [[nodiscard]] const OutputChunk* find(std::uint64_t& resume);

  std::shared_ptr<OutputLog> log;
  std::uint64_t offset = 0;
  std::optional<Stream> only;
  bool lossless = false;  // has the right to make the producer wait
  bool exit_given = false;
  bool finished = false;
  SteadyTime took_at{};
  std::shared_ptr<const OutputChunk> loaded;
};

}  // namespace skiff::sessions
