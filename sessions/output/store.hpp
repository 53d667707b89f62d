#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "sessions/output/log.hpp"
#include "sessions/output/segment.hpp"
#include "sessions/output/spool.hpp"

namespace skiff::sessions {

/// The beginning of a run of bytes of one stream in its chunk. The run ends at the next record or at the chunk's end.
struct OutputRecord {
  std::uint32_t at;  ///< position in the segment
  Stream stream;
  bool late;
  std::uint16_t unused = 0;
  WallTime time;
};

/// Consecutive bytes of a log in one segment, or on disk.
struct OutputChunk {
  std::uint64_t base = 0;                   ///< offset in the log of the segment's first byte
  std::uint32_t begin = 0;                  ///< first valid position in the segment
  std::uint32_t end = 0;                    ///< position after the last valid one
  std::shared_ptr<Segment> segment;         ///< null while the chunk is only on disk
  std::vector<OutputRecord> records;        ///< ascending; empty while the chunk is only on disk
  std::size_t cost = 0;                     ///< bytes of memory that the budget counts for it
  bool leaving = false;                     ///< being written to disk
  std::uint32_t record_count = 0;           ///< records on disk
  std::uint64_t file_at = 0;                ///< offset in the spool file
  std::weak_ptr<const OutputChunk> loaded;  ///< a copy from disk that some reader still holds

  [[nodiscard]] std::uint64_t first() const noexcept { return base + begin; }
  [[nodiscard]] std::uint64_t next() const noexcept { return base + end; }
  [[nodiscard]] bool holds(std::uint64_t offset) const noexcept { return offset >= first() && offset < next(); }
};

/// The bytes of one log: chunks in ascending order, with a hole wherever bytes were dropped. The head, the first 64
/// KiB, has chunks of its own and stays longest; the tail, all bytes after it, leaves oldest first. Reactor thread
/// only.
class OutputStore : public std::enable_shared_from_this<OutputStore> {
 public:
  OutputStore(OutputBudget::State& budget, std::size_t keep_bytes) noexcept;
  ~OutputStore();
  OutputStore(const OutputStore&) = delete;
  OutputStore& operator=(const OutputStore&) = delete;

  /// The largest read of a log, in bytes.
  [[nodiscard]] static std::size_t read_size(std::size_t keep_bytes) noexcept;
  /// Room for one `append`: in the last segment, or in the pool's spare block.
  [[nodiscard]] std::span<char> room();
  /// Takes the first `size` bytes of `room()`. No other code may run on the reactor between the two calls. Bytes
  /// without memory become a hole; it returns false then.
  bool append(Stream stream, std::size_t size, bool late, WallTime time);
  /// The bytes that `append(size)` is about to take.
  [[nodiscard]] std::string_view appended(std::size_t size) const;
  /// Makes the next bytes begin a new record.
  void end_record() noexcept { record_open_ = false; }

  /// Drops or spools the part of the tail below `from`, and more if its memory is far above the limit (because of many
  /// tiny records), but nothing at or above `pinned`. False when a chunk has to wait for the disk.
  bool retain(std::uint64_t from, std::uint64_t pinned, bool may_wait);

  [[nodiscard]] bool can_give_up_tail(std::uint64_t pinned, bool ended) const noexcept;
  enum class GaveUp : std::uint8_t { nothing, something, must_wait_for_disk };
  /// Drops or spools the oldest chunk of the tail if it lies below `pinned`; the last chunk only if the log has
  /// `ended`.
  GaveUp give_up_tail(std::uint64_t pinned, bool ended, bool may_wait);
  GaveUp give_up_head(std::uint64_t pinned);
  [[nodiscard]] std::size_t tail_cost() const noexcept { return tail_cost_; }

  /// The chunk with `offset`; or null and, in `resume`, where the hole around `offset` ends. `offset` <
  /// `next_offset()`.
  [[nodiscard]] const OutputChunk* find(std::uint64_t offset, std::uint64_t& resume) const;
  /// Reads the chunk with `offset` back from disk. Null when it is not, or no longer, only on disk. Null also when it
  /// cannot be read: it is a hole from then on.
  static Task<std::shared_ptr<const OutputChunk>> load(std::shared_ptr<OutputStore> self, std::uint64_t offset);

  [[nodiscard]] std::uint64_t next_offset() const noexcept { return next_; }
  [[nodiscard]] std::uint64_t first_kept() const noexcept { return chunks_.empty() ? next_ : chunks_.front().first(); }

 private:
  using Index = std::size_t;
  [[nodiscard]] Index index_of(std::uint64_t offset) const;
  [[nodiscard]] OutputChunk& add_chunk(std::shared_ptr<Segment> segment, std::uint64_t base, std::size_t begin);
  void keep(Stream stream, std::size_t size, bool late, WallTime time);
  void extend(OutputChunk& chunk, Stream stream, std::size_t size, bool late, WallTime time);
  [[nodiscard]] std::size_t space() const noexcept;
  void count(OutputChunk& chunk);
  void uncount(OutputChunk& chunk);
  GaveUp let_go(Index index, bool may_wait);
  void drop(Index index);
  /// Counts `bytes` at the beginning of a chunk, which are about to be dropped, for the metrics.
  void count_gap(Index index, std::uint64_t bytes) noexcept;
  void written(std::uint64_t first, bool good);

  OutputBudget::State& budget_;
  const std::size_t keep_bytes_;
  const std::size_t largest_;  // capacity of this log's largest segments
  std::deque<OutputChunk> chunks_;
  Index head_ = 0;             // number of the head's chunks
  Index resident_ = 0;         // first chunk of the tail that is neither on disk nor being written there
  std::size_t tail_cost_ = 0;  // cost of the chunks from `resident_` on
  std::uint64_t next_ = 0;
  std::shared_ptr<SpoolFile> file_;
  bool in_spare_ = false;
  bool record_open_ = false;
};

}  // namespace skiff::sessions
