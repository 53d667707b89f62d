#include "fs/search/line_matcher.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace skiff::fs {
namespace {

constexpr std::size_t kShortestHelp = 2;  // a required literal of one byte is too frequent

/// Whether the letter has no further case variants in Unicode: the kelvin sign is one of k, the long s one of s.
bool folds_as_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80 && c != 'k' && c != 'K' && c != 's' && c != 'S';
}

/// Reads an expression from left to right and collects runs of characters that each match must hold. Only characters
/// outside of groups, classes and repetitions count; unknown syntax yields nothing.
class RequiredLiteral {
 public:
  RequiredLiteral(std::string_view expression, bool ignore_case) : text_{expression}, ignore_case_{ignore_case} {}

  std::string find() {
    while (at_ < text_.size()) {
      if (!step()) return {};
    }
    end_run();
    return best_;
  }
  /// Whether the literal is the whole expression; valid after `find`.
  [[nodiscard]] bool is_all() const { return only_literal_; }

 private:
  bool step() {
    const char c = text_[at_++];
    switch (c) {
      case '|':
        return false;
      case '(':
        only_literal_ = false;
        end_run();
        return skip_group();
      case ')':
        return false;
      case '[':
        only_literal_ = false;
        end_run();
        return skip_class();
      case '*':
      case '?':
        only_literal_ = false;
        drop_last();
        return true;
      case '+':
        only_literal_ = false;
        end_run();
        return true;
      case '{': {
        only_literal_ = false;
        drop_last();
        const std::size_t end = text_.find_first_not_of("0123456789,", at_);
        if (end == std::string_view::npos || text_[end] != '}') return false;
        at_ = end + 1;
        return true;
      }
      case '.':
      case '^':
      case '$':
        only_literal_ = false;
        end_run();
        return true;
      case '\\':
        return escape();
      default:
        add(c);
        return true;
    }
  }

  bool escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (std::ispunct(static_cast<unsigned char>(c)) != 0) {
      add(c);
      return true;
    }
    only_literal_ = false;
    end_run();
    // Classes and assertions of one letter; others have arguments.
    return std::string_view{"dDsSwWbBAzfnrtv"}.contains(c);
  }

  bool skip_class() {
    if (at_ < text_.size() && text_[at_] == '^') ++at_;
    if (at_ < text_.size() && text_[at_] == ']') ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == ']') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_.substr(at_).starts_with("[:")) {
        const std::size_t end = text_.find(":]", at_ + 2);
        if (end == std::string_view::npos) return false;
        at_ = end + 1;
      }
    }
    return false;
  }

  bool skip_group() {
    for (unsigned depth = 1; depth > 0;) {
      if (at_ == text_.size()) return false;
      // Flags may change the meaning of the rest.
      if (text_[at_ - 1] == '(' && text_[at_] == '?' && !text_.substr(at_).starts_with("?:") &&
          !text_.substr(at_).starts_with("?P<")) {
        return false;
      }
      const char c = text_[at_++];
      if (c == '\\') {
        if (at_ == text_.size() || text_[at_] == 'Q') return false;
        ++at_;
      } else if (c == '[') {
        if (!skip_class()) return false;
      } else if (c == '(') {
        ++depth;
      } else if (c == ')') {
        --depth;
      }
    }
    return true;
  }

  void add(char c) {
    if (ignore_case_ && !folds_as_ascii(c)) {
      only_literal_ = false;
      end_run();
      // The next token may repeat this character. The character is in no run, but the repetition must not remove
      // another one from the run.
      unusable_last_ = true;
      return;
    }
    unusable_last_ = false;
    run_ += c;
  }

  /// Drops the last character, which a match may lack.
  void drop_last() {
    if (!unusable_last_ && !run_.empty()) {
      while (!run_.empty() && (static_cast<unsigned char>(run_.back()) & 0xC0U) == 0x80) run_.pop_back();
      if (!run_.empty()) run_.pop_back();
    }
    end_run();
  }

  void end_run() {
    if (run_.size() > best_.size()) best_ = run_;
    run_.clear();
    unusable_last_ = false;
  }

  std::string_view text_;
  bool ignore_case_;
  std::size_t at_ = 0;
  std::string run_, best_;
  bool only_literal_ = true;
  bool unusable_last_ = false;
};

RE2::Options options_for(bool ignore_case) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!ignore_case);
  options.set_never_nl(true);
  options.set_never_capture(true);
  options.set_max_mem(std::int64_t{16} << 20U);
  return options;
}

}  // namespace

std::string required_literal(std::string_view expression, bool ignore_case) {
  return RequiredLiteral{expression, ignore_case}.find();
}

LineMatcher::LineMatcher(LineMatcher&&) noexcept = default;
LineMatcher& LineMatcher::operator=(LineMatcher&&) noexcept = default;
LineMatcher::~LineMatcher() = default;

LineMatcher::LineMatcher(const LineMatcher& other) : literal_{other.literal_} {
  if (other.expression_) {
    expression_ = std::make_unique<re2::RE2>(other.expression_->pattern(), other.expression_->options());
  }
}

Result<LineMatcher> LineMatcher::compile(const LinePattern& pattern) {
  if (pattern.text.empty()) return fail(Errc::invalid_field, "the pattern is empty");
  if (pattern.text.size() > kLongest) return fail(Errc::invalid_field, "the pattern is longer than 16 KiB");
  if (pattern.text.contains('\n')) return fail(Errc::invalid_field, "the pattern holds a line end: lines are searched");
  LineMatcher matcher;
  std::string text = pattern.text;
  if (pattern.literal) {
    if (!pattern.ignore_case || std::ranges::all_of(text, folds_as_ascii)) {
      matcher.literal_.emplace(text, pattern.ignore_case);
      return matcher;
    }
    text = RE2::QuoteMeta(text);
  }
  RequiredLiteral required{text, pattern.ignore_case};
  const std::string literal = required.find();
  const bool is_all = required.is_all() && !literal.empty();
  // Check the pattern unwrapped: a stray closing parenthesis would become valid inside the group.
  if (const RE2 plain{text, options_for(pattern.ignore_case)}; !plain.ok()) {
    return fail(Errc::invalid_field, "not a pattern that RE2 takes: " + plain.error());
  }
  auto expression = std::make_unique<re2::RE2>("(?m:" + text + ")", options_for(pattern.ignore_case));
  if (!expression->ok()) return fail(Errc::invalid_field, "not a pattern that RE2 takes: " + expression->error());
  if (literal.size() >= kShortestHelp || is_all) matcher.literal_.emplace(literal, pattern.ignore_case);
  if (!is_all) matcher.expression_ = std::move(expression);
  return matcher;
}

std::optional<LineMatcher::Match> LineMatcher::search(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  const re2::StringPiece whole{text.data(), text.size()};
  if (!expression_->Match(whole, from, text.size(), RE2::UNANCHORED, &found, 1)) return std::nullopt;
  const auto begin = static_cast<std::size_t>(found.data() - text.data());
  return Match{begin, begin + found.size()};
}

std::optional<LineMatcher::Match> LineMatcher::find(std::string_view text, std::size_t from) {
  if (!literal_) return search(text, from);
  if (!expression_) {
    const std::size_t at = literal_->find(text, from);
    if (at == Literal::kNowhere) return std::nullopt;
    return Match{at, at + literal_->size()};
  }
  while (from < text.size()) {
    // A literal that occurs in most lines saves no time: then search the whole text with the expression at once.
    if (tried_ > 256 && passed_ / tried_ < 128) return search(text, from);
    const std::size_t at = literal_->find(text, from);
    passed_ += std::min(at, text.size()) - from;
    if (at == Literal::kNowhere) return std::nullopt;
    ++tried_;
    const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (const auto match = search(text.substr(0, end), begin)) return match;
    from = end + 1;
  }
  return std::nullopt;
}

}  // namespace skiff::fs
