#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "protocol/net/address.hpp"

namespace skiff::net {

/// Private, shared and special IPv4 addresses, and the view of this machine of itself (RFC 6890). The server of Azure
/// that tells a machine its settings and secrets has a public address (168.63.129.16).
inline constexpr std::array<const char*, 15> kSpecialIpv4{
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "168.63.129.16/32", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24",   "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",      "240.0.0.0/4"};

/// The addresses of this machine's own interfaces, at present; nullopt if the kernel does not tell them.
[[nodiscard]] std::optional<std::vector<protocol::Address>> own_addresses();

/// Whether an address is one of the internet: a special one is not, nor one of `own`, nor an IPv6 address that
/// contains an IPv4 address (mapped, NAT64, 6to4, Teredo).
[[nodiscard]] bool is_public(const protocol::Address& address, std::span<const protocol::Address> own);

}  // namespace skiff::net
