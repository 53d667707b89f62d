#include "fs/search/literal.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace skiff::fs {
namespace {

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Returns how often a byte occurs in source code and prose, roughly: 0 is rare.
constexpr unsigned frequency(char c) {
  constexpr std::string_view common = "zqjxkvwbgpyfmhcudlnrsoiate ";  // in ascending order of frequency
  if (const std::size_t at = common.find(lower(c)); at != std::string_view::npos) {
    return static_cast<unsigned>(at) * 4 + (c == lower(c) ? 60 : 20);
  }
  if (c >= '0' && c <= '9') return 50;
  constexpr std::string_view marks = "_.,()-=\"'/:;*#<>{}\n\t";
  return marks.find(c) != std::string_view::npos ? 90 : 10;
}

}  // namespace

Literal::Literal(std::string_view text, bool ignore_case) : text_{text}, ignore_case_{ignore_case} {
  if (ignore_case) std::ranges::transform(text_, text_.begin(), lower);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (frequency(text_[i]) < frequency(text_[first_])) first_ = i;
  }
  second_ = first_ == 0 ? text_.size() - 1 : 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (i != first_ && frequency(text_[i]) < frequency(text_[second_])) second_ = i;
  }
  if (ignore_case && is_letter(text_[first_])) fold_[0] = 0x20;
  if (ignore_case && is_letter(text_[second_])) fold_[1] = 0x20;
}

bool Literal::stands_at(const char* at) const noexcept {
  if (!ignore_case_) return std::memcmp(at, text_.data(), text_.size()) == 0;
  return std::equal(text_.begin(), text_.end(), at, [](char mine, char other) { return mine == lower(other); });
}

std::size_t Literal::find(std::string_view bytes, std::size_t from) const noexcept {
  if (bytes.size() < text_.size() || from > bytes.size() - text_.size()) return kNowhere;
  const char* const begin = bytes.data();
  const std::size_t places = bytes.size() - text_.size() + 1;  // number of possible positions
  std::size_t at = from;
#if defined(__SSE2__)
  const __m128i first = _mm_set1_epi8(text_[first_]), second = _mm_set1_epi8(text_[second_]);
  const __m128i first_fold = _mm_set1_epi8(static_cast<char>(fold_[0]));
  const __m128i second_fold = _mm_set1_epi8(static_cast<char>(fold_[1]));
  const auto load = [](const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const auto candidates = [&](std::size_t place) {
    const __m128i one = _mm_cmpeq_epi8(_mm_or_si128(load(begin + place + first_), first_fold), first);
    const __m128i two = _mm_cmpeq_epi8(_mm_or_si128(load(begin + place + second_), second_fold), second);
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_and_si128(one, two)));
  };
  for (; at + 16 <= places; at += 16) {
    for (unsigned mask = candidates(at); mask != 0; mask &= mask - 1) {
      const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(mask));
      if (stands_at(begin + place)) return place;
    }
  }
#endif
  const auto fits = [this](char c, std::size_t index, unsigned char fold) {
    return static_cast<char>(static_cast<unsigned char>(c) | fold) == text_[index];
  };
  for (; at < places; ++at) {
    if (fits(begin[at + first_], first_, fold_[0]) && fits(begin[at + second_], second_, fold_[1]) &&
        stands_at(begin + at)) {
      return at;
    }
  }
  return kNowhere;
}

}  // namespace skiff::fs
