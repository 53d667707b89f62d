#include "protocol/http/server/server_names.hpp"

#include <algorithm>
#include <utility>

#include "protocol/http/origin.hpp"

namespace skiff::protocol {
namespace {

/// A URL with an authority, split: "http://host" and "/path?query", which may be empty.
struct SplitUrl {
  std::string_view origin;
  std::string_view rest;
};

std::optional<SplitUrl> split_url(std::string_view url) {
  constexpr std::string_view kBefore = "://";
  const std::size_t scheme = url.find(kBefore);
  if (scheme == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + kBefore.size()), url.size());
  return SplitUrl{.origin = url.substr(0, end), .rest = url.substr(end)};
}

/// Returns the first intermediary's entry in a list to which each intermediary appends.
std::string_view first_member(std::string_view list) {
  list = list.substr(0, list.find(','));
  list.remove_prefix(std::min(list.find_first_not_of(" \t"), list.size()));
  return list.substr(0, list.find_last_not_of(" \t") + 1);
}

bool leads_to_another_host(std::string_view path) {
  return path.starts_with("//") || path.starts_with("/\\");
}

std::optional<std::string> checked_prefix(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (!text.empty() && (text.front() != '/' || leads_to_another_host(text))) return std::nullopt;
  return std::string{text};
}

/// Whether the path is the prefix, or below it.
bool is_below(std::string_view rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return false;
  rest.remove_prefix(prefix.size());
  return rest.empty() || std::string_view{"/?#"}.contains(rest.front());
}

std::string with_slash(std::string_view rest) {
  return (rest.starts_with('/') ? "" : "/") + std::string{rest};
}

}  // namespace

ServerNames::ServerNames(const HttpRequest& request, const Headers& forwarded, std::string own)
    : own_{std::move(own)}, prefix_{checked_prefix(forwarded.get("X-Forwarded-Prefix"))} {
  const std::string host{first_member(forwarded.get("X-Forwarded-Host"))};
  const std::string_view scheme = first_member(forwarded.get("X-Forwarded-Proto"));
  const auto know_as = [&](std::string_view with) {
    if (auto origin = normal_origin(std::string{with} + "://" + host)) outer_.push_back(std::move(*origin));
  };
  const bool is_plain = same_text(scheme, "http");
  if (is_plain) know_as("http");
  // If no intermediary has stated the scheme, a proxy in front may have terminated TLS.
  if (same_text(scheme, "https") || (is_plain && !request.headers.contains("X-Forwarded-Proto"))) know_as("https");
}

bool ServerNames::is_known_as(std::string_view origin) const {
  const auto normal = normal_origin(origin);
  return normal && std::ranges::count(outer_, *normal) > 0;
}

std::optional<std::string> ServerNames::referer_for_server(std::string_view referer) const {
  const auto url = split_url(referer);
  if (!url || !prefix_ || !is_known_as(url->origin)) return std::nullopt;
  std::string_view rest = url->rest;
  // "/" alone is the Referer of a page that sends only its origin (Referrer-Policy: origin).
  if (!rest.empty() && rest != "/") {
    if (!is_below(rest, *prefix_)) return std::nullopt;
    rest.remove_prefix(prefix_->size());
  }
  return "http://" + own_ + with_slash(rest);
}

std::optional<std::string> ServerNames::location_for_client(std::string_view location) const {
  const std::string absolute = (location.starts_with("//") ? "http:" : "") + std::string{location};
  const auto url = split_url(absolute);
  if (!url || !prefix_) return std::nullopt;
  if (!is_origin_of(url->origin, "http", own_) && !is_origin_of(url->origin, "https", own_)) return std::nullopt;
  std::string path = with_slash(url->rest);
  // A server that knows its prefix has added it itself.
  if (!is_below(path, *prefix_)) path = *prefix_ + path;
  std::erase(path, '\t');  // as browsers do (WHATWG URL, 4.4): they read "/\t/elsewhere" as "//elsewhere"
  return leads_to_another_host(path) ? "/." + path : path;
}

void ServerNames::tell_server(Headers& fields) const {
  if (const auto origin = fields.find("Origin"); origin && is_known_as(*origin)) {
    fields.set("Origin", "http://" + own_);
    fields.set("X-Forwarded-Host", own_);
    fields.set("X-Forwarded-Proto", "http");
  }
  if (fields.count("Referer") != 1) return;
  if (const auto referer = referer_for_server(fields.get("Referer"))) fields.set("Referer", *referer);
}

void ServerNames::tell_client(Headers& fields) const {
  if (fields.count("Location") != 1) return;
  if (const auto location = location_for_client(fields.get("Location"))) fields.set("Location", *location);
}

}  // namespace skiff::protocol
