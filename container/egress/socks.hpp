#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "container/egress/host_name.hpp"
#include "container/egress/judge.hpp"

/// SOCKS5 (RFC 1928) as far as the proxy speaks it: CONNECT to a DNS name, without a login. A client's messages are
/// read at the start of its bytes; a message that is incomplete has the size 0.
namespace skiff::container::egress {

/// The first byte of a client that speaks SOCKS5. No request of HTTP begins with it.
inline constexpr char kSocks = '\x05';
/// The answers to a greeting: no login is needed, or the client does not offer that.
inline constexpr std::string_view kSocksChosen{"\x05\x00", 2};
inline constexpr std::string_view kSocksNone{"\x05\xff", 2};
/// The answer to a request whose server is connected.
inline constexpr std::string_view kSocksConnected{"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10};

/// Returns the size of the greeting.
[[nodiscard]] std::expected<std::size_t, Refusal> read_socks_greeting(std::string_view bytes);

struct SocksRequest {
  Target target = {};
  std::size_t size = 0;
};
[[nodiscard]] std::expected<SocksRequest, Refusal> read_socks_request(std::string_view bytes);

/// The answer to a request that is refused.
[[nodiscard]] std::string socks_refusal(const Refusal& refusal);

}  // namespace skiff::container::egress
