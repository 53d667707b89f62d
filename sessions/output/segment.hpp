#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace skiff::sessions {

class SegmentPool;

/// A block of memory that output is read into and sent from. The log, its readers and writes to disk share it; the last
/// owner returns the block to its pool. Reactor thread only, except its bytes.
class Segment {
 public:
  Segment(std::shared_ptr<SegmentPool> pool, char* data, std::size_t capacity) noexcept;
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::shared_ptr<SegmentPool> pool_;
  char* data_;
  std::size_t capacity_;
};

/// Allocates segments. Blocks of the largest size are reused, because fresh pages cost more than the read(2) that fills
/// them. An idle pool keeps at most `kKeptBlocks` of them and the spare block (1 MiB in all) and returns other memory
/// to the system at once. Held by shared_ptr: it lives as long as the last segment.
class SegmentPool : public std::enable_shared_from_this<SegmentPool> {
 public:
  static constexpr std::size_t kLargest = 256 * 1024;
  static constexpr std::size_t kKeptBlocks = 3;  // besides the spare block

  /// Throws std::bad_alloc.
  SegmentPool();
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// A segment of `capacity` bytes, 1 to `kLargest`. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<Segment> make(std::size_t capacity);

  /// A block of `kLargest` bytes that no segment owns. All callers get the same block until `take_spare`. It always
  /// exists, so that pipes can be read when memory has run out.
  [[nodiscard]] std::span<char> spare() noexcept { return {spare_, kLargest}; }
  /// Turns the block of `spare()`, with its contents, into a segment. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<Segment> take_spare();

  /// Total capacity of all live segments, in bytes.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  friend class Segment;
  [[nodiscard]] std::shared_ptr<Segment> own(char* data, std::size_t capacity);
  [[nodiscard]] char* take_block();
  void give_back(char* data, std::size_t capacity) noexcept;

  std::vector<char*> blocks_;
  char* spare_;
  std::size_t used_ = 0;
};

}  // namespace skiff::sessions
