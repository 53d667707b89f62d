#include "sessions/output/segment.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace skiff::sessions {
namespace {

// Map the block: malloc would raise its mmap threshold at the first free and then keep such blocks in its heap.
char* map_block() {
  for (;;) {
    void* const block =
        ::mmap(nullptr, SegmentPool::kLargest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block != MAP_FAILED) return static_cast<char*>(block);
    const std::new_handler more = std::get_new_handler();
    if (more == nullptr) throw std::bad_alloc{};
    more();  // throws when it can free no more
  }
}

void unmap_block(char* block) noexcept {
  ::munmap(block, SegmentPool::kLargest);
}

}  // namespace

Segment::Segment(std::shared_ptr<SegmentPool> pool, char* data, std::size_t capacity) noexcept
    : pool_{std::move(pool)}, data_{data}, capacity_{capacity} {
  pool_->used_ += capacity_;
}

Segment::~Segment() {
  pool_->used_ -= capacity_;
  pool_->give_back(data_, capacity_);
}

SegmentPool::SegmentPool() : spare_{map_block()} {}

SegmentPool::~SegmentPool() {
  unmap_block(spare_);
  for (char* const block : blocks_) unmap_block(block);
}

std::shared_ptr<Segment> SegmentPool::own(char* data, std::size_t capacity) {
  try {
    return std::make_shared<Segment>(shared_from_this(), data, capacity);
  } catch (...) {
    give_back(data, capacity);
    throw;
  }
}

char* SegmentPool::take_block() {
  if (blocks_.empty()) {
    blocks_.reserve(kKeptBlocks);  // so that give_back cannot fail
    return map_block();
  }
  char* const block = blocks_.back();
  blocks_.pop_back();
  return block;
}

void SegmentPool::give_back(char* data, std::size_t capacity) noexcept {
  if (capacity < kLargest) {
    std::free(data);
  } else if (blocks_.size() < kKeptBlocks) {
    blocks_.push_back(data);
  } else {
    unmap_block(data);
  }
}

std::shared_ptr<Segment> SegmentPool::make(std::size_t capacity) {
  if (capacity == kLargest) return own(take_block(), capacity);
  auto* const data = static_cast<char*>(std::malloc(capacity));
  if (data == nullptr) throw std::bad_alloc{};
  return own(data, capacity);
}

std::shared_ptr<Segment> SegmentPool::take_spare() {
  return own(std::exchange(spare_, take_block()), kLargest);
}

}  // namespace skiff::sessions
