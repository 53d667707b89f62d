#include "container/egress/terminate/request_rule.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "protocol/http/parser.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kLongestRule = 1024;
constexpr std::string_view kAny = "*";
constexpr std::string_view kRest = "**";

bool is_clear(std::string_view segment) {
  // Some servers take what follows a semicolon for a parameter.
  const std::string_view name = segment.substr(0, segment.find(';'));
  if (name == "." || name == "..") return false;
  return std::ranges::none_of(segment, [](char c) {
    return c == '/' || c == '\\' || c == '%' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
}

}  // namespace

bool is_clear_path(const protocol::Target& target) {
  if (target.fault || target.segments.empty()) return false;
  const auto last = target.segments.end() - 1;
  return std::ranges::all_of(target.segments, is_clear) &&
         std::none_of(target.segments.begin(), last, [](const std::string& one) { return one.empty(); });
}

Result<RequestRule> RequestRule::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid_field,
                "--allow \"" + protocol::to_valid_utf8(std::string_view{text}.substr(0, kLongestRule)) + "\": " + why,
                "--allow");
  };
  if (text.size() > kLongestRule) return refuse("at most " + std::to_string(kLongestRule) + " characters");
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return refuse("expected METHOD PATH, such as 'GET /repos/acme/**'");
  RequestRule rule;
  rule.method_ = text.substr(0, blank);
  const bool is_method = protocol::is_token(rule.method_) &&
                         std::ranges::none_of(rule.method_, [](char c) { return c >= 'a' && c <= 'z'; });
  if (!is_method || (rule.method_ != kAny && rule.method_.contains('*'))) {
    return refuse("the method is in capital letters, or * for every method");
  }
  const std::string path = text.substr(blank + 1);
  if (!path.starts_with('/') || path.find_first_of("?# ") != std::string::npos) {
    return refuse("the path begins with a slash, and has no query and no blank");
  }
  auto target = protocol::Target::parse(path);
  if (!target || !is_clear_path(*target)) return refuse("the path has parts that servers read in different ways");
  rule.segments_ = std::move(target->segments);
  if (rule.segments_.back() == kRest) {
    rule.has_rest_ = true;
    rule.segments_.pop_back();
  }
  for (const std::string& segment : rule.segments_) {
    if (segment != kAny && segment.contains('*')) return refuse("* stands for a whole part, and ** only at the end");
  }
  return rule;
}

bool RequestRule::allows(const std::string& method, const protocol::Target& target) const {
  const bool is_method = method_ == kAny || method == method_ || (method == "HEAD" && method_ == "GET");
  const std::size_t count = target.segments.size();
  if (!is_method || (has_rest_ ? count <= segments_.size() : count != segments_.size())) return false;
  return std::ranges::equal(
      segments_.begin(), segments_.end(), target.segments.begin(),
      target.segments.begin() + static_cast<std::ptrdiff_t>(segments_.size()),
      [](const std::string& one, const std::string& other) { return one == kAny ? !other.empty() : one == other; });
}

}  // namespace skiff::container::egress
