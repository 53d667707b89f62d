#include "container/serve/gateway/place.hpp"

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

Result<Placed> placed_at(std::string_view sandbox, std::string_view port_text, PlacedBy by, std::string_view field) {
  if (!is_label(sandbox)) {
    return fail(Errc::invalid_field, "a sandbox is named by at most 63 lower-case letters, digits and, between them, -",
                std::string{field});
  }
  SKIFF_TRY(auto port, read_port(port_text, field));
  return Placed{.sandbox = std::string{sandbox}, .namespace_name = {}, .port = port, .by = by};
}

using MaybePlaced = Result<std::optional<Placed>>;

MaybePlaced by_host(std::string_view host, std::string_view domain) {
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
  return placed_at(left, port, PlacedBy::host, "Host");
}

MaybePlaced by_path(const protocol::HttpRequest& request) {
  std::string_view path{request.target.path};
  if (!path.starts_with(kPathBegin)) return std::nullopt;
  path.remove_prefix(kPathBegin.size());
  const std::string_view sandbox = take_part(path, '/');
  const std::string_view port = take_part(path, '/');
  if (port.empty() && path.empty()) return std::nullopt;
  return placed_at(sandbox, port, PlacedBy::path, "path");
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

MaybePlaced by_fields(const protocol::Headers& headers) {
  constexpr std::string_view kSandbox = "E2b-Sandbox-Id";
  constexpr std::string_view kPort = "E2b-Sandbox-Port";
  SKIFF_TRY_VOID(check_once(headers, {kSandbox, kPort}));
  const auto sandbox = headers.find(kSandbox);
  const auto port = headers.find(kPort);
  if (!sandbox && !port) return std::nullopt;
  if (!sandbox) return lacks(kSandbox);
  if (!port) return lacks(kPort);
  return placed_at(*sandbox, *port, PlacedBy::fields, kSandbox);
}

MaybePlaced by_router(const protocol::Headers& headers) {
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
  SKIFF_TRY(auto placed, placed_at(*sandbox, port.value_or(kRouterPort), PlacedBy::router, kSandbox));
  placed.namespace_name = in.value_or(std::string_view{});
  return placed;
}

/// Sets `placed` to `other` if it is empty; otherwise both must name the same port.
Result<> agree(std::optional<Placed>& placed, std::optional<Placed> other) {
  if (!other) return {};
  if (!placed) {
    placed = std::move(other);
    return {};
  }
  if (placed->sandbox != other->sandbox || placed->port != other->port) {
    return fail(Errc::invalid_request, "the request names two different ports of sandboxes");
  }
  if (placed->namespace_name.empty()) placed->namespace_name = std::move(other->namespace_name);
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

Result<std::optional<Placed>> place(const protocol::HttpRequest& request, std::string_view domain) {
  SKIFF_TRY(auto placed, by_host(request.host, domain));
  const bool has_host = placed.has_value();
  SKIFF_TRY(auto fields, by_fields(request.headers));
  SKIFF_TRY_VOID(agree(placed, std::move(fields)));
  SKIFF_TRY(auto router, by_router(request.headers));
  SKIFF_TRY_VOID(agree(placed, std::move(router)));
  if (has_host) return placed;
  SKIFF_TRY(auto path, by_path(request));
  if (path && placed) return fail(Errc::invalid_request, "the request names a sandbox by its fields and by its path");
  return path ? std::move(path) : std::move(placed);
}

Result<std::string> target_at(const protocol::HttpRequest& request, const Placed& placed) {
  if (!request.target.path.starts_with('/')) {
    return fail(Errc::invalid_request, "a sandbox's port accepts only paths as the request target");
  }
  return protocol::target_behind(request, placed.by == PlacedBy::path ? kPathParts : 0);
}

std::string prefix_of(const Placed& placed) {
  if (placed.by != PlacedBy::path) return {};
  return std::string{kPathBegin} + placed.sandbox + "/" + std::to_string(placed.port);
}

std::string host_of(std::string_view sandbox, std::uint16_t port, std::string_view domain) {
  return std::to_string(port).append(1, '-').append(sandbox).append(1, '.').append(domain);
}

}  // namespace skiff::container::serve
