#include "sessions/output/store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/log/log.hpp"
#include "sessions/output/state.hpp"

namespace skiff::sessions {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMostCoalesced = 64 * kKiB;
constexpr std::chrono::milliseconds kCoalesceWithin{1};
// A shorter read is copied from the spare block into a segment of the right size, which costs less than the memory that
// would be wasted. A longer read stays in the spare block, which becomes a segment: such reads seldom come alone.
constexpr std::size_t kWorthASegment = 64 * kKiB;

/// Segments of a log with a small limit are small, so that dropping one does not drop half of the log.
std::size_t largest_for(std::size_t keep_bytes) {
  return std::clamp(std::bit_floor(keep_bytes / 8), 4 * kKiB, SegmentPool::kLargest);
}

std::size_t most_records(const OutputChunk& chunk) {
  return std::max<std::size_t>(64, chunk.segment->capacity() / sizeof(OutputRecord));
}

}  // namespace

OutputStore::OutputStore(OutputBudget::State& budget, std::size_t keep_bytes) noexcept
    : budget_{budget}, keep_bytes_{keep_bytes}, largest_{largest_for(keep_bytes)} {}

OutputStore::~OutputStore() {
  for (OutputChunk& chunk : chunks_) uncount(chunk);
}

std::size_t OutputStore::space() const noexcept {
  if (chunks_.empty()) return 0;
  const OutputChunk& last = chunks_.back();
  if (!last.segment || last.leaving || last.next() != next_ || last.records.size() >= most_records(last)) return 0;
  return last.segment->capacity() - last.end;
}

std::span<char> OutputStore::room() {
  const std::size_t left = space();
  in_spare_ = left == 0 || left < chunks_.back().segment->capacity() / 16;
  if (!in_spare_) return {chunks_.back().segment->data() + chunks_.back().end, left};
  return budget_.segments->spare().first(read_size(keep_bytes_));
}

std::size_t OutputStore::read_size(std::size_t keep_bytes) noexcept {
  // A log that copies what it reads reads less at a time.
  return largest_for(keep_bytes) == SegmentPool::kLargest ? SegmentPool::kLargest : kWorthASegment;
}

std::string_view OutputStore::appended(std::size_t size) const {
  if (in_spare_) return {budget_.segments->spare().data(), size};
  return {chunks_.back().segment->data() + chunks_.back().end, size};
}

bool OutputStore::append(Stream stream, std::size_t size, bool late, WallTime time) {
  const std::uint64_t end = next_ + size;
  try {
    keep(stream, size, late, time);
    return true;
  } catch (const std::bad_alloc&) {
    // Bytes without memory become a gap, like bytes above the limit.
    end_record();
    ++budget_.counts.gaps[0];
    budget_.counts.gap_bytes[0] += end - next_;
    next_ = end;
    return false;
  }
}

void OutputStore::keep(Stream stream, std::size_t size, bool late, WallTime time) {
  if (!in_spare_) {
    extend(chunks_.back(), stream, size, late, time);
    return;
  }
  in_spare_ = false;
  for (std::size_t done = 0; done < size;) {
    const std::size_t rest = size - done;
    if (next_ >= OutputLog::kHeadBytes && rest >= kWorthASegment && largest_ == SegmentPool::kLargest) {
      OutputChunk& chunk = add_chunk(budget_.segments->take_spare(), next_ - done, done);
      extend(chunk, stream, rest, late, time);
      return;
    }
    std::size_t left = space();
    if (left == 0) {
      const std::size_t grown = next_ < 4 * kKiB     ? 4 * kKiB
                                : next_ < 32 * kKiB  ? 16 * kKiB
                                : next_ < 256 * kKiB ? 64 * kKiB
                                                     : largest_;
      std::size_t capacity = std::min(largest_, std::bit_ceil(std::max(grown, std::min(rest, largest_))));
      if (next_ < OutputLog::kHeadBytes) capacity = std::min(capacity, OutputLog::kHeadBytes - next_);
      (void)add_chunk(budget_.segments->make(capacity), next_, 0);
      left = capacity;
    }
    OutputChunk& chunk = chunks_.back();
    const std::size_t part = std::min(rest, left);
    std::memcpy(chunk.segment->data() + chunk.end, budget_.segments->spare().data() + done, part);
    extend(chunk, stream, part, late, time);
    done += part;
  }
}

OutputChunk& OutputStore::add_chunk(std::shared_ptr<Segment> segment, std::uint64_t base, std::size_t begin) {
  OutputChunk& chunk = chunks_.emplace_back();
  chunk.segment = std::move(segment);
  chunk.base = base;
  chunk.begin = chunk.end = static_cast<std::uint32_t>(begin);
  if (chunk.first() < OutputLog::kHeadBytes) ++head_, ++resident_;
  return chunk;
}

void OutputStore::extend(OutputChunk& chunk, Stream stream, std::size_t size, bool late, WallTime time) {
  const OutputRecord* const last = chunk.records.empty() ? nullptr : &chunk.records.back();
  const bool same = record_open_ && last != nullptr && last->stream == stream && last->late == late &&
                    time >= last->time && time - last->time < kCoalesceWithin &&
                    chunk.end - last->at + size <= kMostCoalesced;
  if (!same) chunk.records.push_back({.at = chunk.end, .stream = stream, .late = late, .time = time});
  record_open_ = true;
  chunk.end += static_cast<std::uint32_t>(size);
  next_ += size;
  count(chunk);
}

void OutputStore::count(OutputChunk& chunk) {
  const std::size_t cost = chunk.segment->capacity() + chunk.records.capacity() * sizeof(OutputRecord);
  if (cost == chunk.cost) return;
  const std::size_t more = cost - chunk.cost;  // vectors only grow
  chunk.cost = cost;
  if (chunk.first() >= OutputLog::kHeadBytes) tail_cost_ += more;
  budget_.hold(more);
}

void OutputStore::uncount(OutputChunk& chunk) {
  if (std::exchange(chunk.leaving, false)) budget_.leaving -= chunk.cost;
  budget_.release(std::exchange(chunk.cost, 0));
}

bool OutputStore::retain(std::uint64_t from, std::uint64_t pinned, bool may_wait) {
  from = std::min(from, pinned);
  const std::size_t most = keep_bytes_ + keep_bytes_ / 4 + 2 * largest_;
  while (resident_ < chunks_.size()) {
    const OutputChunk& oldest = chunks_[resident_];
    const bool too_much = tail_cost_ > most && resident_ + 1 < chunks_.size();
    if (oldest.next() > (too_much ? pinned : from)) break;
    if (let_go(resident_, may_wait) == GaveUp::must_wait_for_disk) return false;
  }
  // Without a spool the limit is exact to the byte; a spool takes whole chunks only.
  if (!budget_.spool && resident_ < chunks_.size()) {
    OutputChunk& oldest = chunks_[resident_];
    if (oldest.first() < from) {
      count_gap(resident_, from - oldest.first());
      oldest.begin = static_cast<std::uint32_t>(from - oldest.base);
    }
  }
  return true;
}

bool OutputStore::can_give_up_tail(std::uint64_t pinned, bool ended) const noexcept {
  const std::size_t least = ended ? 0 : 1;  // the last chunk is being filled
  return chunks_.size() > resident_ + least && chunks_[resident_].next() <= pinned;
}

OutputStore::GaveUp OutputStore::give_up_tail(std::uint64_t pinned, bool ended, bool may_wait) {
  return can_give_up_tail(pinned, ended) ? let_go(resident_, may_wait) : GaveUp::nothing;
}

OutputStore::GaveUp OutputStore::give_up_head(std::uint64_t pinned) {
  for (Index i = 0; i < head_; ++i) {
    if (chunks_[i].segment && !chunks_[i].leaving)
      return chunks_[i].next() > pinned ? GaveUp::nothing : let_go(i, true);
  }
  return GaveUp::nothing;
}

OutputStore::GaveUp OutputStore::let_go(Index index, bool may_wait) {
  OutputChunk& chunk = chunks_[index];
  Spool* const spool = budget_.spool.get();
  if (spool != nullptr && spool->backlogged() && may_wait) return GaveUp::must_wait_for_disk;
  if (spool != nullptr && !spool->backlogged()) {
    if (!file_) file_ = std::make_shared<SpoolFile>(budget_.spool);
    Spool::Job job{.file = file_,
                   .segment = chunk.segment,
                   .bytes = {chunk.segment->data() + chunk.begin, chunk.end - chunk.begin},
                   .index = std::vector<char>(chunk.records.size() * sizeof(OutputRecord))};
    std::memcpy(job.index.data(), chunk.records.data(), job.index.size());
    auto done = [weak = weak_from_this(), first = chunk.first()](bool good) {
      if (const auto self = weak.lock()) self->written(first, good);
    };
    // Create the callback before the write starts: the write may be refused, but cannot finish inside the call.
    if (const auto at = spool->write(std::move(job), std::move(done))) {
      chunk.leaving = true;
      chunk.file_at = *at;
      chunk.record_count = static_cast<std::uint32_t>(chunk.records.size());
      budget_.leaving += chunk.cost;
      if (index == resident_) {
        tail_cost_ -= chunk.cost;
        ++resident_;
      }
      return GaveUp::something;
    }
  }
  drop(index);
  return GaveUp::something;
}

void OutputStore::count_gap(Index index, std::uint64_t bytes) noexcept {
  // If the bytes before are missing already, the existing gap grows.
  const std::uint64_t before = index == 0 ? 0 : chunks_[index - 1].next();
  if (chunks_[index].first() == before) ++budget_.counts.gaps[0];
  budget_.counts.gap_bytes[0] += bytes;
}

void OutputStore::drop(Index index) {
  log::debug("output dropped", {{"offset", chunks_[index].first()}, {"next", chunks_[index].next()}});
  count_gap(index, chunks_[index].next() - chunks_[index].first());
  OutputChunk gone = std::move(chunks_[index]);
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(index));
  if (index >= resident_) tail_cost_ -= gone.cost;
  if (index < resident_) --resident_;
  if (index < head_) --head_;
  uncount(gone);
}

void OutputStore::written(std::uint64_t first, bool good) {
  const Index index = index_of(first);
  if (good) {
    OutputChunk& chunk = chunks_[index];
    chunk.segment.reset();
    chunk.records = {};
    uncount(chunk);
  } else {
    drop(index);
  }
  budget_.relieved();
}

OutputStore::Index OutputStore::index_of(std::uint64_t offset) const {
  const auto after = std::ranges::upper_bound(chunks_, offset, {}, &OutputChunk::first);
  return static_cast<Index>(after - chunks_.begin()) - 1;  // wraps around when `offset` lies before all chunks
}

const OutputChunk* OutputStore::find(std::uint64_t offset, std::uint64_t& resume) const {
  const Index index = index_of(offset);
  if (index < chunks_.size() && chunks_[index].holds(offset)) return &chunks_[index];
  resume = index + 1 < chunks_.size() ? chunks_[index + 1].first() : next_;
  return nullptr;
}

Task<std::shared_ptr<const OutputChunk>> OutputStore::load(std::shared_ptr<OutputStore> self, std::uint64_t offset) {
  std::uint64_t resume = 0;
  const OutputChunk* const there = self->find(offset, resume);
  if (there == nullptr || there->segment) co_return nullptr;
  if (auto shared = there->loaded.lock()) co_return shared;

  const std::uint64_t first = there->first();
  const std::uint32_t begin = there->begin;
  auto chunk = std::make_shared<OutputChunk>();
  chunk->base = first;
  chunk->end = there->end - begin;
  chunk->segment = self->budget_.segments->make(chunk->end);
  chunk->records.resize(there->record_count);
  auto read = [file = self->file_, at = there->file_at, to = chunk.get()] {
    return file->read(at, {to->segment->data(), to->end},
                      {reinterpret_cast<char*>(to->records.data()), to->records.size() * sizeof(OutputRecord)});
  };
  const Result<> done = co_await self->file_->spool().disk().run(std::move(read));

  const Index index = self->index_of(first);
  if (index >= self->chunks_.size() || self->chunks_[index].first() != first) co_return nullptr;
  if (!done) {
    self->drop(index);
    co_return nullptr;
  }
  for (OutputRecord& record : chunk->records) record.at -= begin;
  self->chunks_[index].loaded = chunk;
  co_return chunk;
}

}  // namespace skiff::sessions
