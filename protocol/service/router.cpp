#include "protocol/service/router.hpp"

#include <algorithm>
#include <utility>

#include "protocol/service/route.hpp"

namespace skiff::protocol::service {
namespace {

/// The methods in Allow where a row takes all but CONNECT: those of RFC 9110 and RFC 5789.
constexpr std::string_view kNamedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE";

/// A last part that takes everything that is left.
constexpr std::string_view kRest = "{path}";

bool is_variable(std::string_view part) {
  return part.starts_with('{');
}

/// The text behind `{...}` in a part: ":tcp".
std::string_view verb_of(std::string_view part) {
  return part.substr(part.find('}') + 1);
}

bool fits_part(std::string_view part, std::string_view segment) {
  if (!is_variable(part)) return part == segment;
  const std::string_view verb = verb_of(part);
  return segment.size() > verb.size() && segment.ends_with(verb);
}

std::string join(std::span<const std::string_view> segments) {
  std::string joined;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0) joined += '/';
    joined += segments[i];
  }
  return joined;
}

/// The values of the variables in segments that fit.
std::vector<std::string> parameters_of(const Segments& parts, bool takes_rest,
                                       std::span<const std::string_view> segments) {
  std::vector<std::string> found;
  const std::size_t single = parts.size() - (takes_rest ? 1 : 0);
  for (std::size_t i = 0; i < single; ++i) {
    if (!is_variable(parts[i])) continue;
    found.emplace_back(segments[i].substr(0, segments[i].size() - verb_of(parts[i]).size()));
  }
  if (takes_rest) found.push_back(join(segments.subspan(std::min(single, segments.size()))));
  return found;
}

}  // namespace

Segments decoded_segments(const Target& target) {
  return {target.segments.begin(), target.segments.end()};
}

Segments split_path(std::string_view path) {
  Segments segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, slash));
    path.remove_prefix(slash);
  }
  return segments;
}

Error no_route(const Match& match, std::string_view no_such_path) {
  if (match.allow.empty()) return {Errc::not_found, std::string{no_such_path}};
  return {Errc::method_not_allowed, "this path has: " + match.allow};
}

void Router::add(std::string_view method, std::string_view path, bool may_take_head) {
  rows_.push_back({.method = method,
                   .path = path,
                   .parts = split_path(path),
                   .takes_rest = path.ends_with(kRest),
                   .takes_head = may_take_head && method == "GET" && options_.head_as_get});
}

bool Router::fits(const Row& row, std::span<const std::string_view> segments) const {
  const std::size_t single = row.parts.size() - (row.takes_rest ? 1 : 0);
  if (row.takes_rest) {
    if (segments.size() < (options_.rest_may_be_absent ? single : single + 1)) return false;
  } else if (segments.size() != single) {
    const bool has_slash_more =
        segments.size() == single + 1 && single > 0 && !row.parts.back().empty() && segments.back().empty();
    if (!options_.slash_at_end || !has_slash_more) return false;
  }
  for (std::size_t i = 0; i < single; ++i) {
    if (!fits_part(row.parts[i], segments[i])) return false;
  }
  return true;
}

bool Router::takes(const Row& row, std::string_view method) {
  if (row.method == kAnyMethod) return method != "CONNECT";
  return row.method == method || (row.takes_head && method == "HEAD");
}

void Router::allow(const Row& row, std::string& methods) {
  if (!methods.empty()) methods += ", ";
  methods += row.method == kAnyMethod ? kNamedMethods : row.method;
  if (row.takes_head) methods += ", HEAD";
}

Match Router::match(std::string_view method, std::span<const std::string_view> segments) const {
  // A method is compared faster than a path, and leaves few rows.
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (!takes(row, method) || !fits(row, segments)) continue;
    return {.route = i, .parameters = parameters_of(row.parts, row.takes_rest, segments)};
  }
  Match found;
  for (const Row& row : rows_) {
    if (fits(row, segments)) allow(row, found.allow);
  }
  return found;
}

}  // namespace skiff::protocol::service
