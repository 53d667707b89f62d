#include "fs/search/wildcard.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace skiff::fs {
namespace {

using Bytes = std::bitset<256>;

struct CharacterClass {
  std::string_view name;
  int (*holds)(int);
};
constexpr std::array kClasses{
    CharacterClass{"alnum", std::isalnum}, CharacterClass{"alpha", std::isalpha},
    CharacterClass{"blank", std::isblank}, CharacterClass{"cntrl", std::iscntrl},
    CharacterClass{"digit", std::isdigit}, CharacterClass{"graph", std::isgraph},
    CharacterClass{"lower", std::islower}, CharacterClass{"print", std::isprint},
    CharacterClass{"punct", std::ispunct}, CharacterClass{"space", std::isspace},
    CharacterClass{"upper", std::isupper}, CharacterClass{"xdigit", std::isxdigit},
};

/// Adds a named class to the set. Returns false for an unknown name.
bool add_class(Bytes& set, std::string_view name) {
  const auto* found = std::ranges::find(kClasses, name, &CharacterClass::name);
  if (found == kClasses.end()) return false;
  for (int byte = 0; byte < 128; ++byte) {
    if (found->holds(byte) != 0) set.set(static_cast<std::size_t>(byte));
  }
  return true;
}

unsigned char byte_at(std::string_view pattern, std::size_t at) {
  return static_cast<unsigned char>(pattern[at]);
}

/// Reads the bracket expression that begins at `pattern[at]` and leaves `at` on its `]`. Returns false when it is
/// malformed.
bool read_bracket(std::string_view pattern, std::size_t& at, Bytes& set) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool first = true, may_be_range = false;  // `]` as the first member is literal
  unsigned char previous = 0;
  for (;; first = false, ++i) {
    if (i >= pattern.size()) return false;
    unsigned char byte = byte_at(pattern, i);
    if (byte == ']' && !first) break;
    if (byte == '-' && may_be_range && i + 1 < pattern.size() && pattern[i + 1] != ']') {
      if (byte = byte_at(pattern, ++i); byte == '\\') {
        if (++i >= pattern.size()) return false;
        byte = byte_at(pattern, i);
      }
      for (unsigned member = previous; member <= byte; ++member) set.set(member);
      may_be_range = false;
      continue;
    }
    if (byte == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const std::size_t end = pattern.find(']', i + 2);
      if (end == std::string_view::npos) return false;
      if (pattern[end - 1] == ':' && end > i + 2) {
        if (!add_class(set, pattern.substr(i + 2, end - 1 - (i + 2)))) return false;
        i = end;
        may_be_range = false;
        continue;
      }
    } else if (byte == '\\') {
      if (++i >= pattern.size()) return false;
      byte = byte_at(pattern, i);
    }
    set.set(byte);
    previous = byte;
    may_be_range = true;
  }
  if (negated) set.flip();
  at = i;
  return true;
}

}  // namespace

std::optional<std::size_t> bracket_end(std::string_view pattern, std::size_t at) {
  Bytes ignored;
  if (!read_bracket(pattern, at, ignored)) return std::nullopt;
  return at;
}

void NameWildcard::settle() {
  const auto is_byte = [](const Token& token) { return token.kind == Token::Kind::byte; };
  const auto stars = std::ranges::count(tokens_, Token::Kind::star, &Token::kind);
  const auto bytes = std::ranges::count_if(tokens_, is_byte);
  const auto size = std::ssize(tokens_);
  if (bytes == size) {
    form_ = Form::literal;
  } else if (stars == 1 && bytes == size - 1 && tokens_.front().kind == Token::Kind::star) {
    form_ = Form::suffix;
  } else if (stars == 1 && bytes == size - 1 && tokens_.back().kind == Token::Kind::star) {
    form_ = Form::prefix;
  } else {
    form_ = Form::general;
    return;
  }
  for (const Token& token : tokens_) {
    if (is_byte(token)) text_ += static_cast<char>(token.byte);
  }
  tokens_.clear();
}

bool NameWildcard::matches(std::string_view name) const noexcept {
  switch (form_) {
    case Form::literal:
      return name == text_;
    case Form::prefix:
      return name.starts_with(text_);
    case Form::suffix:
      return name.ends_with(text_);
    case Form::general:
      return matches_tokens(name);
  }
  return false;
}

// On a mismatch after a star, that star takes one byte more. Only the last star needs backtracking, because the earlier
// stars have matched as little as possible.
bool NameWildcard::matches_tokens(std::string_view name) const noexcept {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t token = 0, at = 0, star = none, star_at = 0;
  for (;;) {
    if (token < tokens_.size() && tokens_[token].kind == Token::Kind::star) {
      star = ++token;
      star_at = at;
      if (token == tokens_.size()) return true;
      continue;
    }
    if (at == name.size()) return token == tokens_.size();
    bool same = false;
    if (token < tokens_.size()) {
      const Token& wanted = tokens_[token];
      const auto byte = static_cast<unsigned char>(name[at]);
      same = wanted.kind == Token::Kind::any || (wanted.kind == Token::Kind::byte && wanted.byte == byte) ||
             (wanted.kind == Token::Kind::set && sets_[wanted.set].test(byte));
    }
    if (same) {
      ++token;
      ++at;
    } else if (star == none) {
      return false;
    } else {
      token = star;
      at = ++star_at;
    }
  }
}

std::optional<PathWildcard> PathWildcard::compile(std::string_view pattern) {
  using Token = NameWildcard::Token;
  PathWildcard path;
  Part part;
  std::size_t stars = 0;
  bool only_stars = true;
  const auto end_part = [&] {
    part.any_directories = only_stars && stars > 1;
    if (part.any_directories) part.name = {};
    part.name.settle();
    path.parts_.push_back(std::exchange(part, {}));
    stars = 0;
    only_stars = true;
  };
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    unsigned char byte = byte_at(pattern, at);
    auto& tokens = part.name.tokens_;
    const bool escaped = byte == '\\';
    if (escaped) {
      if (++at == pattern.size()) return std::nullopt;
      byte = byte_at(pattern, at);
    }
    if (byte == '/') {
      end_part();
    } else if (!escaped && byte == '*') {
      ++stars;
      if (tokens.empty() || tokens.back().kind != Token::Kind::star) tokens.push_back({.kind = Token::Kind::star});
    } else {
      only_stars = false;
      if (!escaped && byte == '?') {
        tokens.push_back({.kind = Token::Kind::any});
      } else if (!escaped && byte == '[') {
        Bytes set;
        if (!read_bracket(pattern, at, set)) return std::nullopt;
        tokens.push_back({.kind = Token::Kind::set, .set = static_cast<std::uint16_t>(part.name.sets_.size())});
        part.name.sets_.push_back(set);
      } else {
        tokens.push_back({.kind = Token::Kind::byte, .byte = byte});
      }
    }
  }
  end_part();
  return path;
}

// As matches_tokens, one level up: a `**` takes one component more when the components after it do not match.
bool PathWildcard::matches(std::string_view path) const noexcept {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  const auto end_of = [path](std::size_t from) { return std::min(path.find('/', from), path.size()); };
  if (!parts_.back().any_directories && !parts_.back().name.matches(path.substr(path.rfind('/') + 1))) return false;
  std::size_t part = 0, at = 0, retry = none, retry_at = 0;
  while (at <= path.size()) {
    if (part < parts_.size() && parts_[part].any_directories) {
      retry = ++part;
      retry_at = at;
      if (part == parts_.size()) return true;
      continue;
    }
    const std::size_t end = end_of(at);
    if (part < parts_.size() && parts_[part].name.matches(path.substr(at, end - at))) {
      ++part;
      at = end + 1;
    } else if (retry == none) {
      return false;
    } else {
      part = retry;
      at = retry_at = end_of(retry_at) + 1;
    }
  }
  return part == parts_.size();
}

bool PathWildcard::may_match_beneath(std::string_view directory) const noexcept {
  std::size_t at = 0;
  for (const Part& part : parts_) {
    if (part.any_directories || at > directory.size() || directory.empty()) return true;
    const std::size_t end = std::min(directory.find('/', at), directory.size());
    if (!part.name.matches(directory.substr(at, end - at))) return false;
    at = end + 1;
  }
  return false;  // the pattern ends at this directory or above it
}

}  // namespace skiff::fs
