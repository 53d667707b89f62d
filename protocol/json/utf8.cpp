#include "protocol/json/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "protocol/json/cpu.hpp"

namespace skiff::protocol {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The front of some bytes: a character, the beginning of a character that is cut by the end of the bytes, or neither.
/// `size` is that of the character, or of the maximal subpart that one U+FFFD replaces.
struct Front {
  enum Kind : std::uint8_t { whole, incomplete, broken } kind;
  std::uint8_t size;
};

/// `bytes` must not be empty. The ranges are those of Unicode 15, table 3-7.
Front front(std::string_view bytes) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {Front::whole, 1};
  std::uint8_t size = 2;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;   // overlong
    if (lead == 0xF4) high = 0x8F;  // above U+10FFFF
  } else {
    return {Front::broken, 1};
  }
  for (std::uint8_t i = 1; i < size; ++i) {
    if (i == bytes.size()) return {Front::incomplete, i};
    if (at(i) < low || at(i) > high) return {Front::broken, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Front::whole, size};
}

std::size_t scalar_prefix(std::string_view bytes) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at >= 16) {
      std::uint64_t a = 0, b = 0;
      std::memcpy(&a, bytes.data() + at, 8);
      std::memcpy(&b, bytes.data() + at + 8, 8);
      if (((a | b) & high_bits) == 0) {
        at += 16;
        continue;
      }
    }
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Front next = front(bytes.substr(at));
    if (next.kind != Front::whole) break;
    at += next.size;
  }
  return at;
}

#if defined(__x86_64__)

/// The table lookup algorithm of J. Keiser and D. Lemire, "Validating UTF-8 in less than one instruction per byte"
/// (2021): three 16-entry tables, indexed by the nibbles of each pair of neighbours, are ANDed to the errors of that
/// pair.
struct Tables {
  enum : unsigned char {
    too_short = 1 << 0,
    too_long = 1 << 1,
    overlong_3 = 1 << 2,
    too_large = 1 << 3,
    surrogate = 1 << 4,
    overlong_2 = 1 << 5,
    too_large_1000 = 1 << 6,
    overlong_4 = 1 << 6,
    two_continuations = 1 << 7,
    carry = too_short | too_long | two_continuations,
  };
  static constexpr unsigned char kFirstHigh[16] = {too_long,
                                                   too_long,
                                                   too_long,
                                                   too_long,
                                                   too_long,
                                                   too_long,
                                                   too_long,
                                                   too_long,
                                                   two_continuations,
                                                   two_continuations,
                                                   two_continuations,
                                                   two_continuations,
                                                   too_short | overlong_2,
                                                   too_short,
                                                   too_short | overlong_3 | surrogate,
                                                   too_short | too_large | too_large_1000 | overlong_4};
  static constexpr unsigned char kFirstLow[16] = {carry | overlong_3 | overlong_2 | overlong_4,
                                                  carry | overlong_2,
                                                  carry,
                                                  carry,
                                                  carry | too_large,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000 | surrogate,
                                                  carry | too_large | too_large_1000,
                                                  carry | too_large | too_large_1000};
  static constexpr unsigned char kSecondHigh[16] = {
      too_short,
      too_short,
      too_short,
      too_short,
      too_short,
      too_short,
      too_short,
      too_short,
      too_long | overlong_2 | two_continuations | overlong_3 | too_large_1000 | overlong_4,
      too_long | overlong_2 | two_continuations | overlong_3 | too_large,
      too_long | overlong_2 | two_continuations | surrogate | too_large,
      too_long | overlong_2 | two_continuations | surrogate | too_large,
      too_short,
      too_short,
      too_short,
      too_short};
};

__attribute__((target("avx2"))) inline __m256i table(const unsigned char (&entries)[16]) noexcept {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(entries)));
}

/// Returns the input shifted by `N` bytes.
template <int N>
__attribute__((target("avx2"))) inline __m256i earlier(__m256i input, __m256i before) noexcept {
  return _mm256_alignr_epi8(input, _mm256_permute2x128_si256(before, input, 0x21), 16 - N);
}

/// Returns how many bytes at the front are valid, in whole blocks without a character that their end cuts. The scalar
/// code continues from there, also to find the exact place of an error.
__attribute__((target("avx2"))) std::size_t avx2_prefix(std::string_view bytes) noexcept {
  const __m256i low_nibble = _mm256_set1_epi8(0x0f);
  __m256i before = _mm256_setzero_si256();
  std::size_t at = 0;
  for (; bytes.size() - at >= 32; at += 32) {
    const __m256i input = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.data() + at));
    if (_mm256_movemask_epi8(_mm256_or_si256(input, before)) == 0) {
      before = input;
      continue;
    }
    const __m256i one = earlier<1>(input, before);
    const __m256i first_high =
        _mm256_shuffle_epi8(table(Tables::kFirstHigh), _mm256_and_si256(_mm256_srli_epi16(one, 4), low_nibble));
    const __m256i first_low = _mm256_shuffle_epi8(table(Tables::kFirstLow), _mm256_and_si256(one, low_nibble));
    const __m256i second_high =
        _mm256_shuffle_epi8(table(Tables::kSecondHigh), _mm256_and_si256(_mm256_srli_epi16(input, 4), low_nibble));
    const __m256i special = _mm256_and_si256(_mm256_and_si256(first_high, first_low), second_high);
    // The second of two continuation bytes must be the third or fourth byte of a character, and a third or fourth byte
    // must be a continuation.
    const __m256i third = _mm256_subs_epu8(earlier<2>(input, before), _mm256_set1_epi8(static_cast<char>(0xE0 - 0x80)));
    const __m256i fourth =
        _mm256_subs_epu8(earlier<3>(input, before), _mm256_set1_epi8(static_cast<char>(0xF0 - 0x80)));
    const __m256i expected =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
    const __m256i error = _mm256_xor_si256(expected, special);
    if (_mm256_testz_si256(error, error) == 0) break;
    before = input;
  }
  // A character that the end of the last block cuts is left to the scalar code, from its first byte.
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, at); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[at - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return size > back ? at - back : at;
  }
  return at;
}

#endif

}  // namespace

std::size_t valid_prefix(std::string_view bytes) noexcept {
  std::size_t at = 0;
#if defined(__x86_64__)
  if (bytes.size() >= 64 && has_avx2()) at = avx2_prefix(bytes);
#endif
  return at + scalar_prefix(bytes.substr(at));
}

bool is_incomplete_character(std::string_view rest) noexcept {
  if (rest.empty()) return false;
  const Front next = front(rest);
  return next.kind == Front::incomplete && next.size == rest.size();
}

std::size_t incomplete_tail(std::string_view bytes) noexcept {
  for (std::size_t tail = 1; tail <= std::min<std::size_t>(3, bytes.size()); ++tail) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - tail]);
    if ((byte & 0xC0) == 0x80) continue;
    return is_incomplete_character(bytes.substr(bytes.size() - tail)) ? tail : 0;
  }
  return 0;
}

void append_valid_utf8(std::string& out, std::string_view bytes) {
  while (true) {
    const std::size_t valid = valid_prefix(bytes);
    out.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    out += kReplacement;
    bytes.remove_prefix(front(bytes).size);
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  append_valid_utf8(out, bytes);
  return out;
}

Utf8Splitter::Pieces Utf8Splitter::push(std::string_view chunk) {
  Pieces pieces;
  if (held_ != 0) {
    // Adds single bytes to the character until it is complete or broken.
    std::size_t taken = 0;
    std::size_t size = held_;
    std::memcpy(head_.data(), begun_.data(), held_);
    while (taken < chunk.size() && is_incomplete_character({head_.data(), size})) {
      const char next = chunk[taken];
      head_[size] = next;
      if (front({head_.data(), size + 1}).kind == Front::broken) break;  // `next` belongs to the following text
      ++size;
      ++taken;
    }
    const bool broken = taken < chunk.size() && is_incomplete_character({head_.data(), size});
    if (!broken && is_incomplete_character({head_.data(), size})) {
      std::memcpy(begun_.data(), head_.data(), size);
      held_ = size;
      return pieces;
    }
    pieces.head = {head_.data(), size};
    chunk.remove_prefix(taken);
    held_ = 0;
  }
  held_ = incomplete_tail(chunk);
  if (held_ != 0) std::memcpy(begun_.data(), chunk.data() + chunk.size() - held_, held_);
  pieces.body = chunk.substr(0, chunk.size() - held_);
  return pieces;
}

std::string_view Utf8Splitter::flush() noexcept {
  std::memcpy(head_.data(), begun_.data(), held_);
  return {head_.data(), std::exchange(held_, 0)};
}

}  // namespace skiff::protocol
