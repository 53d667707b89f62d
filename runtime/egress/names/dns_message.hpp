#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The messages of DNS (RFC 1035), as far as a server needs them that has one address of IPv4 for each of its names.
namespace skiff::runtime::egress {

/// Largest query that is read. With all that a client may add to a name, it is much smaller.
inline constexpr std::size_t kLargestQuery = 4096;

/// The types of records with an address.
inline constexpr std::uint16_t kDnsIpv4 = 1;
inline constexpr std::uint16_t kDnsIpv6 = 28;

enum class DnsCode : std::uint8_t { ok = 0, malformed = 1, failed = 2, no_name = 3, unsupported = 4 };

struct DnsQuery {
  std::uint16_t id = 0;
  bool wants_recursion = false;
  DnsCode fault = DnsCode::ok;  ///< if not `ok`, the answer, whatever is asked
  std::string question = {};    ///< its bytes, which the answer repeats
  std::string name = {};        ///< in lower case; empty for one with other characters than those of host names
  std::uint16_t type = 0;
};

/// Reads a message. nullopt: it is not a query, and an answer to an answer could go on for ever.
[[nodiscard]] std::optional<DnsQuery> read_dns_query(std::string_view message);

struct DnsAddress {
  std::uint32_t address;  ///< in the byte order of the machine
  std::chrono::seconds time_to_live;
};
/// An answer, with at most one address. It is never longer than 512 bytes.
[[nodiscard]] std::string dns_answer(const DnsQuery& query, DnsCode code, std::optional<DnsAddress> address = {});

}  // namespace skiff::runtime::egress
