#include "protocol/net/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

namespace skiff::protocol {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kDescriptorPrefix = "fd:";

std::unexpected<Error> bad_address(std::string_view text, std::string_view why) {
  return fail(Errc::invalid_field, "address \"" + std::string{text} + "\": " + std::string{why});
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return port;
}

const sockaddr_in& as_ip4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}
const sockaddr_in6& as_ip6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

}  // namespace

Result<Address> Address::ip(std::string_view host, std::uint16_t port) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string literal{host};
  Address address;
  if (auto& ip4 = reinterpret_cast<sockaddr_in&>(address.storage_);
      inet_pton(AF_INET, literal.c_str(), &ip4.sin_addr) == 1) {
    ip4.sin_family = AF_INET;
    ip4.sin_port = htons(port);
    address.length_ = sizeof(sockaddr_in);
    return address;
  }
  if (auto& ip6 = reinterpret_cast<sockaddr_in6&>(address.storage_);
      inet_pton(AF_INET6, literal.c_str(), &ip6.sin6_addr) == 1) {
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = htons(port);
    address.length_ = sizeof(sockaddr_in6);
    return address;
  }
  return bad_address(host, "not an IPv4 or IPv6 address (names are not resolved)");
}

Result<Address> Address::parse(std::string_view text) {
  // A NUL would end the text early for the C functions below.
  if (text.find('\0') != std::string_view::npos) return bad_address("", "holds a NUL byte");
  if (text.starts_with(kUnixPrefix)) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    Address address;
    auto& local = reinterpret_cast<sockaddr_un&>(address.storage_);
    if (path.empty()) return bad_address(text, "the path of the Unix socket is missing");
    if (path.size() >= sizeof(local.sun_path)) return bad_address(text, "a Unix socket's path has at most 107 bytes");
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, path.data(), path.size());
    address.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return address;
  }
  if (text.starts_with(kDescriptorPrefix)) {
    const auto number = parse_port(text.substr(kDescriptorPrefix.size()));
    if (!number || *number <= 2) return bad_address(text, "expected the number of an inherited descriptor, from 3");
    Address address;
    address.storage_.ss_family = AF_UNIX;
    address.length_ = sizeof(sa_family_t);
    address.descriptor_ = *number;
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return bad_address(text, "the port is missing (ADDRESS:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER)");
  const std::string_view host = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return bad_address(text, "the port must be a number from 0 to 65535");
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (!bracketed && host.find(':') != std::string_view::npos)
    return bad_address(text, "an IPv6 address needs brackets: [::1]:7070");
  if (bracketed && host.find(':') == std::string_view::npos)
    return bad_address(text, "only an IPv6 address stands in brackets");
  auto address = ip(host, *port);
  if (!address) return bad_address(text, "not an IPv4 or IPv6 address (names are not resolved)");
  return address;
}

Address Address::from_socket(const sockaddr_storage& storage, socklen_t length) {
  Address address;
  address.storage_ = storage;
  address.length_ = length;
  // The kernel sets only the family for a peer without a name.
  if (length < sizeof(sa_family_t)) address.storage_.ss_family = AF_UNIX;
  if (address.family() != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&as_ip6(storage).sin6_addr)) return address;
  sockaddr_in ip4{};
  ip4.sin_family = AF_INET;
  ip4.sin_port = as_ip6(storage).sin6_port;
  std::memcpy(&ip4.sin_addr, &as_ip6(storage).sin6_addr.s6_addr[12], sizeof ip4.sin_addr);
  address.storage_ = {};
  std::memcpy(&address.storage_, &ip4, sizeof ip4);
  address.length_ = sizeof ip4;
  return address;
}

std::string Address::path() const {
  constexpr socklen_t kStart = offsetof(sockaddr_un, sun_path);
  if (!is_unix() || length_ <= kStart) return {};
  const char* text = reinterpret_cast<const sockaddr_un&>(storage_).sun_path;
  return {text, strnlen(text, length_ - kStart)};
}

std::string Address::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET) inet_ntop(AF_INET, &as_ip4(storage_).sin_addr, text.data(), text.size());
  if (family() == AF_INET6) inet_ntop(AF_INET6, &as_ip6(storage_).sin6_addr, text.data(), text.size());
  return text.data();
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET) return ntohs(as_ip4(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(as_ip6(storage_).sin6_port);
  return 0;
}

bool Address::is_loopback() const noexcept {
  if (is_unix()) return true;
  if (family() == AF_INET) return (ntohl(as_ip4(storage_).sin_addr.s_addr) >> 24) == 127;
  if (family() != AF_INET6) return false;
  const in6_addr& ip6 = as_ip6(storage_).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip6) || (IN6_IS_ADDR_V4MAPPED(&ip6) && ip6.s6_addr[12] == 127);
}

bool Address::is_any() const noexcept {
  if (family() == AF_INET) return as_ip4(storage_).sin_addr.s_addr == htonl(INADDR_ANY);
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&as_ip6(storage_).sin6_addr);
}

std::string Address::text() const {
  if (descriptor_ >= 0) return std::string{kDescriptorPrefix} + std::to_string(descriptor_);
  if (is_unix()) return std::string{kUnixPrefix} + path();
  const std::string port_text = ":" + std::to_string(port());
  return family() == AF_INET6 ? "[" + host() + "]" + port_text : host() + port_text;
}

}  // namespace skiff::protocol
