#include "bench/load/events.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/load/socket.hpp"

namespace skiff::bench {

namespace {

/// Returns the position of the next quotation mark or backslash from `at` on.
std::size_t find_special(std::string_view text, std::size_t at) {
#if defined(__x86_64__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    if (found != 0) {
      return at + static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(found)));
    }
  }
#endif
  for (; at < text.size(); ++at) {
    if (text[at] == '"' || text[at] == '\\') {
      return at;
    }
  }
  throw Failure("a JSON string without its end");
}

/// `at` is after the opening quotation mark; returns the position of the closing one.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (at = find_special(text, at); text[at] == '\\'; at = find_special(text, at + 2)) {
  }
  return at;
}

/// `at` is the beginning of a value that is not a string; returns its end.
std::size_t value_end(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at + 1);
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}')) {
      return at;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  throw Failure("a JSON object without its end");
}

/// Decodes two digits at once: 12 bits, or 0xffff if one of them is not a digit.
const std::array<std::uint16_t, 65536>& pairs() {
  static const auto table = [] {
    std::array<std::uint16_t, 65536> made{};
    made.fill(0xffff);
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (unsigned i = 0; i < 64; ++i) {
      for (unsigned j = 0; j < 64; ++j) {
        const auto first = static_cast<unsigned char>(digits[i]), second = static_cast<unsigned char>(digits[j]);
        made[static_cast<std::size_t>(first << 8 | second)] = static_cast<std::uint16_t>(i << 6 | j);
      }
    }
    return made;
  }();
  return table;
}

/// Decodes four digits to 24 bits.
std::uint32_t quad(const char* from) {
  const auto pair = [from](int i) {
    return pairs()[static_cast<std::size_t>(static_cast<unsigned char>(from[i]) << 8 |
                                            static_cast<unsigned char>(from[i + 1]))];
  };
  const std::uint32_t high = pair(0), low = pair(2);
  if (high == 0xffff || low == 0xffff) {
    throw Failure("not base64: " + std::string(from, 4));
  }
  return high << 12 | low;
}

#if defined(__x86_64__)
/// Decodes 32 digits to 24 bytes a step, after Mula and Lemire, "Faster Base64 Encoding and Decoding using AVX2
/// Instructions" (2018): the high half of each digit selects the offset and the allowed low halves. Returns how many
/// digits it decoded; it stops before the last ones and before any other character.
__attribute__((target("avx2"))) std::size_t decode_avx2(std::string_view text, char* to) {
  const __m256i allowed_low =
      _mm256_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a,
                       0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a);
  const __m256i allowed_high =
      _mm256_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
                       0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10);
  const __m256i add = _mm256_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 19, 4, -65, -65,
                                       -71, -71, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i order = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6, 5, 4, 10,
                                         9, 8, 14, 13, 12, -1, -1, -1, -1);
  const __m256i together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, -1, -1);
  const __m256i slash = _mm256_set1_epi8(0x2f);
  std::size_t at = 0;
  for (; at + 48 <= text.size(); at += 32, to += 24) {
    const __m256i digits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(digits, 4), slash);
    const __m256i low = _mm256_and_si256(digits, slash);
    if (!_mm256_testz_si256(_mm256_shuffle_epi8(allowed_low, low), _mm256_shuffle_epi8(allowed_high, high))) {
      break;
    }
    const __m256i is_slash = _mm256_cmpeq_epi8(digits, slash);
    const __m256i values = _mm256_add_epi8(digits, _mm256_shuffle_epi8(add, _mm256_add_epi8(is_slash, high)));
    const __m256i pairs_of = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
    const __m256i quads = _mm256_madd_epi16(pairs_of, _mm256_set1_epi32(0x00011000));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(quads, order), together);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  }
  return at;
}
#endif

void append_utf8(std::uint32_t code, char*& to) {
  if (code < 0x80) {
    *to++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *to++ = static_cast<char>(0xc0 | code >> 6);
    *to++ = static_cast<char>(0x80 | (code & 63));
  } else {  // no test prints text that needs a surrogate pair
    *to++ = static_cast<char>(0xe0 | code >> 12);
    *to++ = static_cast<char>(0x80 | (code >> 6 & 63));
    *to++ = static_cast<char>(0x80 | (code & 63));
  }
}

}  // namespace

Event parse_event(std::string_view text) {
  Event event;
  std::size_t at = text.find_first_not_of(" \t\r\n");
  const auto expect = [&](char c) {
    at = at == std::string_view::npos ? at : text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos || text[at] != c) {
      throw Failure("not a JSON object: " + std::string(text.substr(0, 200)));
    }
    ++at;
  };
  expect('{');
  while (true) {
    expect('"');
    const std::size_t name_end = string_end(text, at);
    const std::string_view name = text.substr(at, name_end - at);
    at = name_end + 1;
    expect(':');
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) {
      throw Failure("a JSON object without its end");
    }
    const bool is_string = text[at] == '"';
    const std::size_t start = is_string ? at + 1 : at;
    const std::size_t end = is_string ? string_end(text, start) : value_end(text, start);
    const std::string_view value = text.substr(start, end - start);
    at = is_string ? end + 1 : end;
    if (name == "type") {
      event.type = value;
    } else if (name == "data") {
      event.data = value;
      event.has_data = true;
    } else if (name == "data_base64") {
      event.data_base64 = value;
      event.has_base64 = true;
    } else if (name == "stream") {
      event.stream = value;
    } else if (name == "offset") {
      event.offset = value;
    } else if (name == "exit_code") {
      event.exit_code = value;
    } else if (name == "cause") {
      event.cause = value;
    }
    at = text.find_first_not_of(" \t\r\n", at);
    if (at != std::string_view::npos && text[at] == '}') {
      return event;
    }
    expect(',');
  }
}

std::string_view decode_base64(std::string_view text, std::string& to) {
  if (text.size() % 4 != 0) {
    throw Failure("base64 of a length that can't be");
  }
  if (to.size() < text.size() + 64) {
    to.resize(text.size() + 64);
  }
  std::size_t at = 0;
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  at = has_avx2 ? decode_avx2(text, to.data()) : 0;
#endif
  char* out = to.data() + at / 4 * 3;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::size_t whole = text.size() - (padding > 0 ? 4 : 0);
  const auto put = [&out](std::uint32_t bits, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      *out++ = static_cast<char>(bits >> (16 - 8 * i));
    }
  };
  for (; at < whole; at += 4) {
    put(quad(text.data() + at), 3);
  }
  if (padding > 0) {
    std::string last(text.substr(whole, 4 - padding));
    last.append(padding, 'A');
    put(quad(last.data()), 3 - padding);
  }
  return {to.data(), static_cast<std::size_t>(out - to.data())};
}

std::string_view unescape(std::string_view text, std::string& to) {
  if (to.size() < text.size() + 64) {
    to.resize(text.size() + 64);
  }
  char* out = to.data();
  while (!text.empty()) {
    const void* found = std::memchr(text.data(), '\\', text.size());
    const std::size_t plain =
        found == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    std::memcpy(out, text.data(), plain);
    out += plain;
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const std::size_t which = text.size() < 2 ? std::string_view::npos : kNames.find(text[1]);
    if (which != std::string_view::npos) {
      *out++ = kValues[which];
      text.remove_prefix(2);
    } else if (text.size() >= 6 && text[1] == 'u') {
      append_utf8(static_cast<std::uint32_t>(std::stoul(std::string(text.substr(2, 4)), nullptr, 16)), out);
      text.remove_prefix(6);
    } else {
      throw Failure("a bad escape in a JSON string");
    }
  }
  return {to.data(), static_cast<std::size_t>(out - to.data())};
}

}  // namespace skiff::bench
