#include "fs/tree/name_batch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace skiff::fs {
namespace {

static_assert(std::endian::native == std::endian::little);

std::uint64_t head_of(std::string_view name) noexcept {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, name.data(), std::min(name.size(), sizeof bytes));
  return std::byteswap(bytes);
}

}  // namespace

void NameBatch::add(const Name& name) {
  places_.push_back({.head = head_of(name.text),
                     .begin = static_cast<std::uint32_t>(text_.size()),
                     .size = static_cast<std::uint16_t>(name.text.size()),
                     .maybe_directory = name.maybe_directory,
                     .wanted = name.wanted});
  text_.insert(text_.end(), name.text.begin(), name.text.end());
  text_.push_back('\0');
}

void NameBatch::keep_first(std::size_t most) {
  if (places_.size() <= most) return;
  std::nth_element(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(most), places_.end(), by_bytes());
  places_.resize(most);
  std::vector<char> kept;
  for (Index& place : places_) {
    const char* const from = text_.data() + place.begin;
    place.begin = static_cast<std::uint32_t>(kept.size());
    kept.insert(kept.end(), from, from + place.size + 1);
  }
  text_.swap(kept);
}

void NameBatch::sort() {
  std::sort(places_.begin(), places_.end(), by_bytes());
}

void NameBatch::clear() noexcept {
  places_.clear();
  text_.clear();
}

NameBatch::Name NameBatch::operator[](std::size_t index) const noexcept {
  const Index& place = places_[index];
  return {.text = text_of(place), .maybe_directory = place.maybe_directory, .wanted = place.wanted};
}

}  // namespace skiff::fs
