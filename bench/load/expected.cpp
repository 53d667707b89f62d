#include "bench/load/expected.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/load/socket.hpp"

namespace skiff::bench {

PatternBlock::PatternBlock(Pattern which) : pattern(which), size(pattern_block_size(which)), bytes_(kPatternBlock) {
  pattern_fill(pattern, bytes_.data());
  pattern_stamp(pattern, 0, bytes_.data());
}

const char* PatternBlock::numbered(std::uint64_t number) {
  if (number != number_) {
    pattern_stamp(pattern, number, bytes_.data());
    number_ = number;
  }
  return bytes_.data();
}

void Expected::check(std::string_view data) {
  while (!data.empty()) {
    const std::size_t at = offset_ % block_->size;
    const std::size_t size = std::min(data.size(), block_->size - at);
    const char* expected = block_->numbered(offset_ / block_->size) + at;
    if (std::memcmp(expected, data.data(), size) != 0) {
      const auto wrong = std::mismatch(expected, expected + size, data.begin()).first - expected;
      throw Failure("byte " + std::to_string(offset_ + static_cast<std::uint64_t>(wrong)) +
                    " is not the one that was written");
    }
    offset_ += size;
    data.remove_prefix(size);
  }
}

}  // namespace skiff::bench
