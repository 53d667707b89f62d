#include "protocol/json/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kChunk = 16 * 1024;
constexpr std::size_t kLongestEscape = 6;

struct Escape {
  std::array<char, 8> text{};
  std::uint8_t size = 0;
};

/// The escape of every byte that needs one; size 0 for the others. Each has eight bytes, so that one move stores it.
constexpr std::array<Escape, 256> kEscapes = [] {
  std::array<Escape, 256> table{};
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = {{'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6};
  const auto brief = [&](char c, char letter) { table[static_cast<unsigned char>(c)] = {{'\\', letter}, 2}; };
  brief('"', '"');
  brief('\\', '\\');
  brief('\b', 'b');
  brief('\f', 'f');
  brief('\n', 'n');
  brief('\r', 'r');
  brief('\t', 't');
  return table;
}();

/// Returns true when one of the eight bytes needs an escape (Mycroft's zero-byte test, on the byte itself, `"` and
/// `\`).
inline bool needs_escape(std::uint64_t word) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  const auto below = [](std::uint64_t w, std::uint64_t limit) { return (w - ones * limit) & ~w & high; };
  return (below(word, 0x20) | below(word ^ (ones * '"'), 1) | below(word ^ (ones * '\\'), 1)) != 0;
}

#ifdef __SSE2__
/// Copies 16 bytes; returns a bit for each byte that needs an escape.
inline unsigned copy_block(const char* from, char* to) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  // Unsigned `byte <= 0x1f` is `min(byte, 0x1f) == byte`.
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, slash))));
}
#else
inline unsigned copy_block(const char* from, char* to) noexcept {
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), from, kBlock);
  std::memcpy(to, words.data(), kBlock);
  if (!needs_escape(words[0]) && !needs_escape(words[1])) return 0;
  unsigned mask = 0;
  for (unsigned i = 0; i < kBlock; ++i) {
    if (kEscapes[static_cast<unsigned char>(from[i])].size != 0) mask |= 1U << i;
  }
  return mask;
}
#endif

inline char* escape_byte(char c, char* to) noexcept {
  const Escape& escape = kEscapes[static_cast<unsigned char>(c)];
  if (escape.size == 0) {
    *to = c;
    return to + 1;
  }
  std::memcpy(to, escape.text.data(), escape.text.size());
  return to + escape.size;
}

/// Copies between one and two Words of bytes as a first and a last Word, which may overlap, without a loop and without
/// a read beyond the end.
template <class Word>
inline std::pair<Word, Word> copy_ends(const char* from, std::size_t size, char* to) noexcept {
  Word first = 0, last = 0;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + size - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + size - sizeof last, &last, sizeof last);
  return {first, last};
}

/// Returns true when the eight bytes are ASCII without a byte that needs an escape.
inline bool is_plain(std::uint64_t word) noexcept {
  constexpr std::uint64_t not_ascii = 0x8080808080808080;
  return (word & not_ascii) == 0 && !needs_escape(word);
}

/// Copies up to a block of plain ASCII. Returns false when a byte is another one; the copy is then invalid.
inline bool copy_plain(const char* from, std::size_t size, char* to) noexcept {
  if (size >= sizeof(std::uint64_t)) {
    const auto [first, last] = copy_ends<std::uint64_t>(from, size, to);
    return is_plain(first) && is_plain(last);
  }
  if (size >= sizeof(std::uint32_t)) {
    const auto [first, last] = copy_ends<std::uint32_t>(from, size, to);
    return is_plain(std::uint64_t{first} << 32U | last);
  }
  bool plain = true;
  for (std::size_t i = 0; i < size; ++i) {
    to[i] = from[i];
    plain =
        plain && static_cast<unsigned char>(from[i]) < 0x80 && kEscapes[static_cast<unsigned char>(from[i])].size == 0;
  }
  return plain;
}

/// Escapes a chunk. `to` has room for the longest result and one block.
char* escape_chunk(const char* from, const char* end, char* to) noexcept {
  while (static_cast<std::size_t>(end - from) >= kBlock) {
    unsigned mask = copy_block(from, to);
    if (mask == 0) {
      from += kBlock;
      to += kBlock;
      continue;
    }
    if (std::popcount(mask) > 4) {  // dense: single bytes are cheaper than runs
      for (const char* stop = from + kBlock; from != stop; ++from) to = escape_byte(*from, to);
      continue;
    }
    // The block is already copied up to its first escape. Each run after an escape is one more block move, of which
    // only the first bytes count. Runs lie within this block, and moves read no further than `end`.
    std::array<char, 2 * kBlock> block;
    std::memcpy(block.data(), from, kBlock);
    unsigned at = 0;
    while (mask != 0) {
      const auto next = static_cast<unsigned>(std::countr_zero(mask));
      std::memcpy(to, block.data() + at, kBlock);
      to += next - at;
      to = escape_byte(block[next], to);
      at = next + 1;
      mask &= mask - 1;
    }
    std::memcpy(to, block.data() + at, kBlock);
    to += kBlock - at;
    from += kBlock;
  }
  const auto left = static_cast<std::size_t>(end - from);
  if (copy_plain(from, left, to)) return to + left;
  for (; from != end; ++from) to = escape_byte(*from, to);
  return to;
}

/// U+0085, U+2028 and U+2029 in UTF-8, and their escapes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLineEnds{
    {{"\xC2\x85", "\\u0085"}, {"\xE2\x80\xA8", "\\u2028"}, {"\xE2\x80\xA9", "\\u2029"}}};

/// Escapes these characters in `out` from `begin` on.
void escape_line_ends(std::string& out, std::size_t begin) {
  for (const auto& [raw, escaped] : kLineEnds) {
    for (std::size_t at = out.find(raw, begin); at != std::string::npos; at = out.find(raw, at + escaped.size())) {
      out.replace(at, raw.size(), escaped);
    }
  }
}

/// The size of the text's first characters that a chunk holds: no character is cut.
std::size_t chunk_size(std::string_view utf8) noexcept {
  if (utf8.size() <= kChunk) return utf8.size();
  std::size_t size = kChunk;
  while (size > kChunk - 4 && (static_cast<unsigned char>(utf8[size]) & 0xC0U) == 0x80U) --size;
  return size;
}

/// Appends a key or short value with its quotes and neighbours in one piece; lists consist of these. Returns false, and
/// appends nothing, when it is longer than a block or not plain ASCII.
bool append_short(std::string& out, bool comma, std::string_view text, bool colon) {
  if (text.size() > kBlock) return false;
  bool plain = false;
  out.resize_and_overwrite(out.size() + text.size() + 4, [&, before = out.size()](char* data, std::size_t) {
    char* to = data + before;
    if (comma) *to++ = ',';
    *to++ = '"';
    plain = copy_plain(text.data(), text.size(), to);
    if (!plain) return before;
    to += text.size();
    *to++ = '"';
    if (colon) *to++ = ':';
    return static_cast<std::size_t>(to - data);
  });
  return plain;
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  std::array<char, 24> text;
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), done.ptr);
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view utf8) {
  // Clean text grows `out` once. Escapes double it, in chunks, so that the room for the worst case stays small.
  const std::size_t first = std::min(utf8.size(), kChunk);
  if (utf8.size() > kChunk) out.reserve(out.size() + utf8.size() + first * kLongestEscape + 2 * kBlock);
  while (!utf8.empty()) {
    const std::string_view chunk = utf8.substr(0, chunk_size(utf8));
    utf8.remove_prefix(chunk.size());
    const std::size_t before = out.size();
    out.resize_and_overwrite(before + chunk.size() * kLongestEscape + 2 * kBlock, [&](char* data, std::size_t) {
      return static_cast<std::size_t>(escape_chunk(chunk.data(), chunk.data() + chunk.size(), data + before) - data);
    });
    escape_line_ends(out, before);
  }
}

bool is_plain_json(std::string_view text) noexcept {
  std::uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    if (!is_plain(word)) return false;
  }
  word = 0x2020202020202020;  // spaces after the end
  std::memcpy(&word, text.data(), text.size());
  return is_plain(word);
}

void append_json_string(std::string& out, std::string_view utf8) {
  if (append_short(out, false, utf8, false)) return;
  out += '"';
  append_json_escaped(out, utf8);
  out += '"';
}

void append_json_key(std::string& out, std::string_view key) {
  const bool comma = !out.empty() && out.back() != '{';
  if (append_short(out, comma, key, true)) return;
  if (comma) out += ',';
  append_json_string(out, key);
  out += ':';
}

void append_json_integer(std::string& out, std::int64_t value) {
  append_integer(out, value);
}
void append_json_integer(std::string& out, std::uint64_t value) {
  append_integer(out, value);
}

void append_json_text(std::string& out, std::string_view key, std::string_view text) {
  append_json_key(out, key);
  if (is_valid_utf8(text)) {
    append_json_string(out, text);
  } else {
    append_json_string(out, to_valid_utf8(text));
  }
}

void append_json_number(std::string& out, std::string_view key, std::uint64_t value) {
  append_json_key(out, key);
  append_json_integer(out, value);
}

void append_json_flag(std::string& out, std::string_view key, bool value) {
  append_json_key(out, key);
  out += value ? "true" : "false";
}

}  // namespace skiff::protocol
