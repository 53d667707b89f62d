#include "container/net/public_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace skiff::net {
namespace {

using protocol::Address;

constexpr unsigned kLoopbackNet = 127;

/// The parts of 2000::/3, where all public IPv6 addresses are, that are not: protocols such as Teredo, documentation,
/// and 6to4.
constexpr std::array<const char*, 4> kSpecialIpv6{"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"};

struct Bits {
  std::array<std::uint8_t, 16> bytes{};
};

bool begins_with(std::span<const std::uint8_t> address, std::span<const std::uint8_t> prefix, unsigned bits) {
  for (std::size_t i = 0; i * 8 < bits; ++i) {
    const unsigned left = bits - static_cast<unsigned>(i) * 8;
    const unsigned mask = left >= 8 ? 0xFFU : 0xFFU << (8 - left) & 0xFFU;
    if ((address[i] & mask) != (prefix[i] & mask)) return false;
  }
  return true;
}

bool is_in(int family, std::span<const std::uint8_t> address, std::string_view range) {
  const std::size_t slash = range.find('/');
  unsigned bits = 0;
  std::from_chars(range.data() + slash + 1, range.data() + range.size(), bits);
  Bits prefix;
  const std::string text{range.substr(0, slash)};
  return ::inet_pton(family, text.c_str(), prefix.bytes.data()) == 1 && begins_with(address, prefix.bytes, bits);
}

}  // namespace

std::optional<std::vector<Address>> own_addresses() {
  std::vector<Address> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner{first, &::freeifaddrs};
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    sockaddr_storage storage{};
    std::memcpy(&storage, one->ifa_addr, size);
    all.push_back(Address::from_socket(storage, size));
  }
  return all;
}

bool is_public(const Address& address, std::span<const Address> own) {
  const std::string host = address.host();
  if (std::ranges::any_of(own, [&](const Address& one) { return one.host() == host; })) return false;
  if (address.family() == AF_INET) {
    const auto* const raw = reinterpret_cast<const sockaddr_in*>(address.data());
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &raw->sin_addr, bytes.size());
    return bytes[0] != kLoopbackNet &&
           std::ranges::none_of(kSpecialIpv4, [&](const char* range) { return is_in(AF_INET, bytes, range); });
  }
  if (address.family() != AF_INET6) return false;
  const auto* const raw = reinterpret_cast<const sockaddr_in6*>(address.data());
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &raw->sin6_addr, bytes.size());
  return raw->sin6_scope_id == 0 && is_in(AF_INET6, bytes, "2000::/3") &&
         std::ranges::none_of(kSpecialIpv6, [&](const char* range) { return is_in(AF_INET6, bytes, range); });
}

}  // namespace skiff::net
