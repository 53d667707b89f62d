#include "container/serve/gateway/destination.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "protocol/http/forward.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::size_t kLongestLabel = 63;
/// Leaves room for PORT-SANDBOX in the longest name (RFC 1035, 2.3.4).
constexpr std::size_t kLongestDomain = 253 - 1 - kLongestLabel;
constexpr std::string_view kPathBegin = "/s/";
constexpr int kPathParts = 3;  ///< /s/SANDBOX/PORT
/// The port that agent-sandbox's own router uses if the request names none.
constexpr std::string_view kRouterPort = "8888";

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// True for a label of RFC 1123, 2.1, in lower case.
bool is_label(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kLongestLabel && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

std::string in_lower_case(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return lower;
}

/// Removes the part up to the next `separator`, and the separator, from `text`, and returns the part.
std::string_view take_part(std::string_view& text, char separator) noexcept {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Reads a port. Each number has only one form, so that cookies and rules for a port cannot be evaded.
Result<std::uint16_t> read_port(std::string_view text, std::string_view field) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0 || text.front() == '0') {
    return fail(Errc::invalid_field, "a port is a number from 1 to 65535, without zeros before it", std::string{field});
  }
  return port;
}

Result<Destination> destination_at(std::string_view sandbox, std::string_view port_text, NamedBy by,
                                   std::string_view field) {
  if (!is_label(sandbox)) {
    return fail(Errc::invalid_field, "a sandbox is named by at most 63 lower-case letters, digits and, between them, -",
                std::string{field});
  }
  SKIFF_TRY(auto port, read_port(port_text, field));
  return Destination{.sandbox = std::string{sandbox}, .namespace_name = {}, .port = port, .by = by};
}

using MaybeDestination = Result<std::optional<Destination>>;

MaybeDestination by_host(std::string_view host, std::string_view domain) {
  const auto refuse = [] {
    return fail(Errc::host_not_allowed, "below this domain there is only PORT-SANDBOX", "Host");
  };
  const std::string name = in_lower_case(take_part(host, ':'));
  if (domain.empty() || name.size() <= domain.size() || !name.ends_with(domain)) return std::nullopt;
  std::string_view left{name};
  left.remove_suffix(domain.size());
  if (left.back() != '.') return std::nullopt;
  left.remove_suffix(1);
  if (!std::ranges::all_of(host, is_digit) || !is_label(left)) return refuse();
  // A single word is not a sandbox's host.
  const std::size_t digits = std::min(left.find_first_not_of("0123456789"), left.size());
  if (digits == 0 || digits == left.size() || left[digits] != '-') return std::nullopt;
  const std::string_view port = take_part(left, '-');
  return destination_at(left, port, NamedBy::host, "Host");
}

MaybeDestination by_path(const protocol::HttpRequest& request) {
  std::string_view path{request.target.path};
  if (!path.starts_with(kPathBegin)) return std::nullopt;
  path.remove_prefix(kPathBegin.size());
  const std::string_view sandbox = take_part(path, '/');
  const std::string_view port = take_part(path, '/');
  if (port.empty() && path.empty()) return std::nullopt;
  return destination_at(sandbox, port, NamedBy::path, "path");
}

Result<> check_once(const protocol::Headers& headers, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (headers.count(name) > 1) {
      return fail(Errc::invalid_request, std::string{name} + " is repeated", std::string{name});
    }
  }
  return {};
}

std::unexpected<Error> lacks(std::string_view name) {
  return fail(Errc::invalid_request, "the header fields that name a sandbox lack " + std::string{name},
              std::string{name});
}

MaybeDestination by_fields(const protocol::Headers& headers) {
  constexpr std::string_view kSandbox = "E2b-Sandbox-Id";
  constexpr std::string_view kPort = "E2b-Sandbox-Port";
  SKIFF_TRY_VOID(check_once(headers, {kSandbox, kPort}));
  const auto sandbox = headers.find(kSandbox);
  const auto port = headers.find(kPort);
  if (!sandbox && !port) return std::nullopt;
  if (!sandbox) return lacks(kSandbox);
  if (!port) return lacks(kPort);
  return destination_at(*sandbox, *port, NamedBy::fields, kSandbox);
}

MaybeDestination by_router(const protocol::Headers& headers) {
  constexpr std::string_view kSandbox = "X-Sandbox-ID";
  constexpr std::string_view kPort = "X-Sandbox-Port";
  constexpr std::string_view kNamespace = "X-Sandbox-Namespace";
  SKIFF_TRY_VOID(check_once(headers, {kSandbox, kPort, kNamespace}));
  const auto sandbox = headers.find(kSandbox);
  const auto port = headers.find(kPort);
  const auto in = headers.find(kNamespace);
  if (!sandbox && !port && !in) return std::nullopt;
  if (!sandbox) return lacks(kSandbox);
  if (in && !is_label(*in)) {
    return fail(Errc::invalid_field, "a namespace is named by a DNS label", std::string{kNamespace});
  }
  SKIFF_TRY(auto destination, destination_at(*sandbox, port.value_or(kRouterPort), NamedBy::router, kSandbox));
  destination.namespace_name = in.value_or(std::string_view{});
  return destination;
}

/// Sets `destination` to `other` if it is empty; otherwise both must name the same port.
Result<> agree(std::optional<Destination>& destination, std::optional<Destination> other) {
  if (!other) return {};
  if (!destination) {
    destination = std::move(other);
    return {};
  }
  if (destination->sandbox != other->sandbox || destination->port != other->port) {
    return fail(Errc::invalid_request, "the request names two different ports of sandboxes");
  }
  if (destination->namespace_name.empty()) destination->namespace_name = std::move(other->namespace_name);
  return {};
}

}  // namespace

Result<std::string> parse_domain(std::string_view text) {
  std::string domain = in_lower_case(text);
  std::string_view rest{domain};
  std::size_t labels = 0;
  bool valid = !domain.empty() && domain.size() <= kLongestDomain && domain.back() != '.';
  while (valid && !rest.empty()) {
    valid = is_label(take_part(rest, '.'));
    ++labels;
  }
  if (valid && labels >= 2) return domain;
  return fail(Errc::invalid_field, "\"" + std::string{text.substr(0, kLongestDomain)} +
                                       "\" is not a domain: expected two names or more, "
                                       "separated by dots");
}

Result<std::optional<Destination>> destination_of(const protocol::HttpRequest& request, std::string_view domain) {
  SKIFF_TRY(auto destination, by_host(request.host, domain));
  const bool has_host = destination.has_value();
  SKIFF_TRY(auto fields, by_fields(request.headers));
  SKIFF_TRY_VOID(agree(destination, std::move(fields)));
  SKIFF_TRY(auto router, by_router(request.headers));
  SKIFF_TRY_VOID(agree(destination, std::move(router)));
  if (has_host) return destination;
  SKIFF_TRY(auto path, by_path(request));
  if (path && destination)
    return fail(Errc::invalid_request, "the request names a sandbox by its fields and by its path");
  return path ? std::move(path) : std::move(destination);
}

Result<std::string> target_at(const protocol::HttpRequest& request, const Destination& destination) {
  if (!request.target.path.starts_with('/')) {
    return fail(Errc::invalid_request, "a sandbox's port accepts only paths as the request target");
  }
  return protocol::target_behind(request, destination.by == NamedBy::path ? kPathParts : 0);
}

std::string prefix_of(const Destination& destination) {
  if (destination.by != NamedBy::path) return {};
  return std::string{kPathBegin} + destination.sandbox + "/" + std::to_string(destination.port);
}

std::string host_of(std::string_view sandbox, std::uint16_t port, std::string_view domain) {
  return std::to_string(port).append(1, '-').append(sandbox).append(1, '.').append(domain);
}

}  // namespace skiff::container::serve
