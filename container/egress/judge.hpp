#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "container/egress/host_name.hpp"
#include "container/egress/policy.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/client_hello.hpp"

namespace skiff::container::egress {

/// Why something does not pass.
struct Refusal {
  unsigned status = 403;  ///< of HTTP
  std::string_view code;  ///< stable, a literal: `not_allowed`
  std::string detail;     ///< for people, with what would allow it
  std::string rule = {};  ///< would allow it; empty if none does
};

/// Judges the server that a client asks for; nullopt: it passes. A policy that is null allows nothing.
[[nodiscard]] std::optional<Refusal> judge(const Policy* policy, const Target& target, std::string_view sandbox);

/// Judges the addresses of a name: all of them must be public.
[[nodiscard]] std::optional<Refusal> judge_addresses(std::span<const protocol::Address> addresses, const Target& target,
                                                     const std::function<bool(const protocol::Address&)>& is_public);

/// Judges the first message of TLS: it must ask for the host of the tunnel.
[[nodiscard]] std::optional<Refusal> judge_hello(const protocol::ClientHelloReader& hello, const Target& target);

/// Most bytes of the head of a client's request, and of the target in it.
inline constexpr std::size_t kMostOfHead = std::size_t{16} * 1024;
inline constexpr std::size_t kMostOfTarget = std::size_t{8} * 1024;

/// The answer of HTTP to a refusal: the status, `X-Skiff-Egress: CODE`, and a problem document (RFC 9457).
[[nodiscard]] protocol::HttpResponse answer(const Refusal& refusal, const Target& target);
/// Returns it as bytes, for a connection that ends with it.
[[nodiscard]] std::string response(const Refusal& refusal, const Target& target);

}  // namespace skiff::container::egress
