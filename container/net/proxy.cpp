#include "container/net/proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "base/bytes/text.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/address.hpp"

namespace skiff::net {
namespace {

using protocol::Address;

/// The 4 or 16 bytes of an address literal; empty for a name.
std::string address_bytes(std::string_view host) {
  const std::string text{host};
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return {bytes.data(), sizeof(in_addr)};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return {bytes.data(), sizeof(in6_addr)};
  return {};
}

bool in_block(std::string_view block, std::string_view address) {
  const std::size_t slash = block.find('/');
  const std::string network = address_bytes(block.substr(0, slash));
  const std::string_view width = block.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), bits);
  if (error != std::errc{} || end != width.data() + width.size() || network.empty() ||
      network.size() != address.size() || bits > network.size() * 8) {
    return false;
  }
  for (std::size_t i = 0; i < network.size() && bits > 0; ++i) {
    const unsigned here = std::min(bits, 8U);
    const unsigned mask = (0xffU << (8 - here)) & 0xffU;
    if (((static_cast<unsigned char>(network[i]) ^ static_cast<unsigned char>(address[i])) & mask) != 0) return false;
    bits -= here;
  }
  return true;
}

/// Removes ":port" from an entry; returns false when it is another port.
bool port_fits(std::string_view& entry, std::uint16_t port) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return true;
  const bool bracketed = entry.starts_with('[');
  if (!bracketed && entry.find(':') != colon) return true;  // an IPv6 address without a port
  if (bracketed && entry[colon - 1] != ']') return true;
  unsigned named = 0;
  const auto [end, error] = std::from_chars(entry.data() + colon + 1, entry.data() + entry.size(), named);
  if (error != std::errc{} || end != entry.data() + entry.size() || named != port) return false;
  entry = entry.substr(0, colon);
  return true;
}

bool entry_names(std::string_view entry, std::string_view host, std::uint16_t port) {
  if (entry.empty()) return false;
  if (entry == "*") return true;
  const std::string address = address_bytes(host);
  if (entry.find('/') != std::string_view::npos) return !address.empty() && in_block(entry, address);
  if (!port_fits(entry, port)) return false;
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (!address.empty()) return address_bytes(entry) == address;
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (protocol::same_text(entry, host)) return true;
  // ".a.test" matches names below it, "a.test" matches itself and these.
  const std::size_t dot = entry.starts_with('.') ? 0 : 1;
  if (host.size() < entry.size() + dot) return false;
  const std::string_view tail = host.substr(host.size() - entry.size());
  return protocol::same_text(tail, entry) && (dot == 0 || host[host.size() - entry.size() - 1] == '.');
}

bool is_this_machine(std::string_view host) {
  if (protocol::same_text(host, "localhost")) return true;
  const auto address = Address::ip(host, 0);
  return address && address->is_loopback();
}

}  // namespace

std::string process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : value;
}

bool is_listed(std::string_view list, std::string_view host, std::uint16_t port) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (entry_names(trimmed(list.substr(0, comma)), host, port)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

Result<std::optional<Url>> proxy_for(const Url& server, const Environment& environment) {
  const std::array<const char*, 2> names =
      server.tls ? std::array{"https_proxy", "HTTPS_PROXY"} : std::array{"http_proxy", "HTTP_PROXY"};
  for (const char* name : names) {
    const std::string value = environment(name);
    if (value.empty()) continue;
    std::string list = environment("no_proxy");
    if (list.empty()) list = environment("NO_PROXY");
    if (is_this_machine(server.host) || is_listed(list, server.host, server.port)) return std::nullopt;
    SKIFF_TRY(auto proxy, parse_proxy(value, name));
    return std::optional{std::move(proxy)};
  }
  return std::nullopt;
}

}  // namespace skiff::net
