#include "sessions/shell/words.hpp"

#include <algorithm>
#include <cstdint>

namespace skiff::sessions {
namespace {

constexpr std::string_view kOctal = "01234567";
constexpr std::string_view kHex = "0123456789abcdefABCDEF";
// Outside quotes these characters end a word or expand, so a word with one is refused.
constexpr std::string_view kSpecial = " \t\n|&;<>()$`\"'*?[]{}~#!";

/// Reads a word from its beginning to its end.
class WordReader {
 public:
  explicit WordReader(std::string_view word) : word_{word} {}

  std::optional<std::string> read() {
    while (at_ < word_.size()) {
      if (!piece()) return std::nullopt;
    }
    return std::move(value_);
  }

 private:
  [[nodiscard]] bool piece() {
    const char c = word_[at_++];
    if (c == '\'') return single();
    if (c == '"') return double_quotes();
    if (c == '$' && at_ < word_.size() && word_[at_] == '\'') {
      ++at_;
      return dollar();
    }
    if (c == '\\') {
      if (at_ == word_.size()) return false;
      value_ += word_[at_++];
      return true;
    }
    value_ += c;
    return kSpecial.find(c) == std::string_view::npos;
  }

  [[nodiscard]] bool single() {
    const std::size_t end = word_.find('\'', at_);
    if (end == std::string_view::npos) return false;
    value_ += word_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  [[nodiscard]] bool double_quotes() {
    while (at_ < word_.size()) {
      const char c = word_[at_++];
      if (c == '"') return true;
      if (c == '$' || c == '`') return false;
      if (c == '\\' && at_ < word_.size() && std::string_view{"$`\"\\"}.find(word_[at_]) != std::string_view::npos) {
        value_ += word_[at_++];
      } else {
        value_ += c;
      }
    }
    return false;
  }

  [[nodiscard]] bool dollar() {
    while (at_ < word_.size()) {
      const char c = word_[at_++];
      if (c == '\'') return true;
      if (c != '\\') {
        value_ += c;
      } else if (!escape()) {
        return false;
      }
    }
    return false;
  }

  [[nodiscard]] bool escape() {
    if (at_ == word_.size()) return false;
    const char c = word_[at_];
    if (kOctal.find(c) != std::string_view::npos) {
      value_ += static_cast<char>(number(kOctal, 8, 3));
      return true;
    }
    ++at_;
    constexpr std::string_view kNames = "abeEfnrtv\\'\"?";
    constexpr std::string_view kMeanings = "\a\b\033\033\f\n\r\t\v\\'\"?";
    if (const std::size_t found = kNames.find(c); found != std::string_view::npos) {
      value_ += kMeanings[found];
      return true;
    }
    if (c == 'x') {
      value_ += static_cast<char>(number(kHex, 16, 2));
      return true;
    }
    if (c == 'u' || c == 'U') return utf8(number(kHex, 16, c == 'u' ? 4 : 8));
    return false;
  }

  std::uint32_t number(std::string_view digits, std::uint32_t base, std::size_t most) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < most && at_ < word_.size(); ++i, ++at_) {
      const std::size_t digit = digits.find(word_[at_]);
      if (digit == std::string_view::npos) break;
      value = value * base + static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    return value;
  }

  [[nodiscard]] bool utf8(std::uint32_t point) {
    if (point > 0x10FFFF) return false;
    const auto add = [&](std::uint32_t byte) { value_ += static_cast<char>(byte); };
    const auto rest = [&](unsigned shift) { add(0x80U | ((point >> shift) & 0x3FU)); };
    if (point < 0x80) {
      add(point);
    } else if (point < 0x800) {
      add(0xC0U | (point >> 6U));
      rest(0);
    } else if (point < 0x10000) {
      add(0xE0U | (point >> 12U));
      rest(6);
      rest(0);
    } else {
      add(0xF0U | (point >> 18U));
      rest(12);
      rest(6);
      rest(0);
    }
    return true;
  }

  std::string_view word_;
  std::size_t at_ = 0;
  std::string value_;
};

}  // namespace

std::string quote_word(std::string_view text) {
  std::string word{"'"};
  word.reserve(text.size() + 2);
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  word += '\'';
  return word;
}

std::optional<std::size_t> end_of_line(std::string_view text, std::size_t from) {
  std::size_t at = from;
  // Skips to the closing `quote`; with `escapes` a backslash protects the next character.
  const auto skip = [&](char quote, bool escapes) {
    for (++at; at < text.size() && text[at] != quote; ++at) {
      if (escapes && text[at] == '\\') ++at;
    }
    return at < text.size();
  };
  bool dollar = false;  // the previous character is an unquoted '$'
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') return at;
    if (c == '\\') {
      ++at;
    } else if ((c == '\'' || c == '"') && !skip(c, c == '"' || dollar)) {
      return std::nullopt;
    }
    dollar = c == '$';
  }
  return text.size();
}

std::optional<std::string> unquote_word(std::string_view word) {
  return WordReader{word}.read();
}

bool is_name(std::string_view text) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace skiff::sessions
