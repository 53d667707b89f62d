#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/pattern.h"

namespace skiff::bench {

/// One block of a pattern, stamped with one number at a time. The streams of a thread share it, so that it stays in the
/// cache.
struct PatternBlock {
  explicit PatternBlock(Pattern pattern);
  const char* numbered(std::uint64_t number);

  const Pattern pattern;
  const std::size_t size;

 private:
  std::vector<char> bytes_;
  std::uint64_t number_ = 0;
};

/// Compares the bytes that arrive, in order and in any pieces, with those of the writer.
class Expected {
 public:
  explicit Expected(PatternBlock& block) : block_(&block) {}

  /// Throws Failure with the offset of the first wrong byte.
  void check(std::string_view data);
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  PatternBlock* block_;
  std::uint64_t offset_ = 0;
};

}  // namespace skiff::bench
