#include "container/cli/output/printable.hpp"

#include <array>
#include <cstdio>

#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

constexpr char32_t kFirstPrintable = 0x20;
constexpr char32_t kDelete = 0x7F;
constexpr char32_t kBehindC1 = 0xA0;

/// UAX 9, 2: marks, embeddings, overrides and isolates.
bool changes_direction(char32_t code) noexcept {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool is_unprintable(char32_t code) noexcept {
  return code < kFirstPrintable || (code >= kDelete && code < kBehindC1) || changes_direction(code);
}

/// One character of valid UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t size = 1;
};

Character first_of(std::string_view valid) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(valid[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  auto code = static_cast<char32_t>(first & (0xFFU >> (size + 1)));
  for (std::size_t i = 1; i < size; ++i) code = code << 6U | (byte(i) & 0x3FU);
  return {code, size};
}

/// Calls `take(bytes, code)` for each character; a byte that belongs to none has code 0, which is unprintable, too.
template <class Take>
void for_each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    std::size_t valid = protocol::valid_prefix(text);
    if (valid == 0) {
      take(text.substr(0, 1), char32_t{0});
      text.remove_prefix(1);
    }
    while (valid > 0) {
      const Character one = first_of(text);
      take(text.substr(0, one.size), one.code);
      text.remove_prefix(one.size);
      valid -= one.size;
    }
  }
}

template <class Stays>
std::string escaped(std::string_view text, const Stays& stays) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view bytes, char32_t code) {
    if (!is_unprintable(code) || stays(code)) {
      out += bytes;
      return;
    }
    for (const char c : bytes) {
      std::array<char, 5> shown{};
      std::snprintf(shown.data(), shown.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += shown.data();
    }
  });
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, [](char32_t) { return false; });
}

std::string printable_lines(std::string_view text) {
  return escaped(text, [](char32_t code) { return code == U'\n' || code == U'\t'; });
}

bool is_printable(std::string_view text) noexcept {
  bool is = true;
  for_each_character(text, [&is](std::string_view, char32_t code) { is = is && !is_unprintable(code); });
  return is;
}

std::size_t width_of(std::string_view text) noexcept {
  std::size_t width = 0;
  for_each_character(text, [&width](std::string_view, char32_t) { ++width; });
  return width;
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view kMore = "...";
  std::string shown = printable(text);
  if (width_of(shown) <= columns) return shown;
  std::size_t left = columns > kMore.size() ? columns - kMore.size() : 0;
  std::size_t end = 0;
  for_each_character(shown, [&](std::string_view bytes, char32_t) {
    if (left == 0) return;
    --left;
    end += bytes.size();
  });
  shown.resize(end);
  shown += kMore;
  return shown;
}

std::string escape_unprintable(std::string_view quoted) {
  std::string out;
  out.reserve(quoted.size());
  for_each_character(quoted, [&out](std::string_view bytes, char32_t code) {
    if (code < kDelete || !is_unprintable(code)) {
      out += bytes;
      return;
    }
    std::array<char, 7> shown{};
    std::snprintf(shown.data(), shown.size(), "\\u%04x", static_cast<unsigned>(code));
    out += shown.data();
  });
  return out;
}

bool needs_escape(std::string_view text) noexcept {
  bool needs = false;
  for_each_character(
      text, [&needs](std::string_view, char32_t code) { needs = needs || (code >= kDelete && is_unprintable(code)); });
  return needs;
}

}  // namespace skiff::container
