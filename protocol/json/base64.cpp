#include "protocol/json/base64.hpp"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "protocol/json/cpu.hpp"

namespace skiff::protocol {
namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 0xFF;

/// Two characters for each 12 bits: half the look-ups of one character for each 6 bits.
using Pairs = std::array<std::array<char, 2>, 4096>;
constexpr Pairs pairs_of(std::string_view alphabet) {
  Pairs pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {alphabet[i >> 6], alphabet[i & 63]};
  return pairs;
}
constexpr Pairs kStandardPairs = pairs_of(kStandard);

constexpr std::array<std::uint8_t, 256> values_of(std::string_view alphabet) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr auto kStandardValues = values_of(kStandard);
constexpr auto kUrlSafeValues = values_of(kUrlSafe);

struct Progress {
  const char* from;
  char* to;
};

#if defined(__x86_64__)
/// Each step encodes 24 bytes to 32 characters (W. Mula and D. Lemire, "Faster Base64 encoding and decoding using AVX2
/// instructions", 2018). A step reads 4 bytes before its input, so the caller encodes the first bytes otherwise.
__attribute__((target("avx2"))) Progress encode_avx2(const char* from, const char* end, char* to) noexcept {
  const __m256i spread = _mm256_setr_epi8(5, 4, 6, 5, 8, 7, 9, 8, 11, 10, 12, 11, 14, 13, 15, 14,  //
                                          1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
  const __m256i shifts = _mm256_setr_epi8(65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0,  //
                                          65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0);
  while (end - from >= 28) {
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from - 4)), spread);
    const __m256i high =
        _mm256_mulhi_epu16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
    const __m256i low =
        _mm256_mullo_epi16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
    const __m256i sixes = _mm256_or_si256(high, low);
    // The range of a value selects the offset to its letter.
    const __m256i range =
        _mm256_sub_epi8(_mm256_subs_epu8(sixes, _mm256_set1_epi8(51)), _mm256_cmpgt_epi8(sixes, _mm256_set1_epi8(25)));
    const __m256i text = _mm256_add_epi8(sixes, _mm256_shuffle_epi8(shifts, range));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), text);
    from += 24;
    to += 32;
  }
  return {from, to};
}
#endif

Progress encode_scalar(const char* from, const char* end, char* to) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(from[i])); };
  for (; end - from >= 3; from += 3, to += 4) {
    const std::uint32_t word = byte(0) << 16 | byte(1) << 8 | byte(2);
    const auto& first = kStandardPairs[word >> 12];
    const auto& second = kStandardPairs[word & 0xFFF];
    to[0] = first[0];
    to[1] = first[1];
    to[2] = second[0];
    to[3] = second[1];
  }
  return {from, to};
}

/// Encodes with the standard alphabet and padding; returns the end.
char* encode(const char* from, const char* end, char* to) noexcept {
#if defined(__x86_64__)
  if (end - from >= 64 && has_avx2()) {
    const Progress first = encode_scalar(from, from + 6, to);
    const Progress most = encode_avx2(first.from, end, first.to);
    from = most.from;
    to = most.to;
  }
#endif
  const Progress rest = encode_scalar(from, end, to);
  from = rest.from;
  to = rest.to;
  if (from == end) return to;
  const bool two = end - from == 2;
  const std::uint32_t word = static_cast<std::uint32_t>(static_cast<unsigned char>(from[0])) << 16 |
                             (two ? static_cast<std::uint32_t>(static_cast<unsigned char>(from[1])) << 8 : 0U);
  *to++ = kStandard[word >> 18];
  *to++ = kStandard[word >> 12 & 63];
  *to++ = two ? kStandard[word >> 6 & 63] : '=';
  *to++ = '=';
  return to;
}

std::optional<std::string> decode(std::string_view text, const std::array<std::uint8_t, 256>& values) {
  if (text.size() % 4 == 1) return {};
  std::string out;
  bool good = true;
  out.resize_and_overwrite(text.size() / 4 * 3 + 3, [&](char* data, std::size_t) {
    char* to = data;
    const auto value = [&](std::size_t i) { return std::uint32_t{values[static_cast<unsigned char>(text[i])]}; };
    std::size_t at = 0;
    std::uint32_t wrong = 0;
    for (; text.size() - at >= 4; at += 4) {
      const std::uint32_t a = value(at), b = value(at + 1), c = value(at + 2), d = value(at + 3);
      wrong |= a | b | c | d;
      const std::uint32_t word = a << 18 | b << 12 | c << 6 | d;
      *to++ = static_cast<char>(word >> 16);
      *to++ = static_cast<char>(word >> 8);
      *to++ = static_cast<char>(word);
    }
    if (const std::size_t left = text.size() - at; left >= 2) {
      const std::uint32_t a = value(at), b = value(at + 1), c = left == 3 ? value(at + 2) : 0;
      wrong |= a | b | c;
      const std::uint32_t word = a << 18 | b << 12 | c << 6;
      *to++ = static_cast<char>(word >> 16);
      if (left == 3) *to++ = static_cast<char>(word >> 8);
      if ((word & (left == 3 ? 0xFFU : 0xFFFFU)) != 0) wrong = kNone;  // unused bits must be zero
    }
    good = wrong < 64;
    return static_cast<std::size_t>(to - data);
  });
  if (!good) return {};
  return out;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + base64_size(bytes.size()), [&](char* data, std::size_t) {
    return static_cast<std::size_t>(encode(bytes.data(), bytes.data() + bytes.size(), data + before) - data);
  });
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

std::string encode_base64url(std::string_view bytes) {
  std::string out = encode_base64(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) {
    if (c == '+') c = kUrlSafe[62];
    if (c == '/') c = kUrlSafe[63];
  }
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) text.remove_suffix(1);
  return decode(text, kStandardValues);
}

std::optional<std::string> decode_base64url(std::string_view text) {
  return decode(text, kUrlSafeValues);
}

}  // namespace skiff::protocol
