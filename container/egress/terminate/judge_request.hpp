#pragma once

#include <optional>
#include <string>

#include "container/egress/host_name.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/egress/terminate/terminator.hpp"
#include "protocol/http/message.hpp"

/// Whether a request passes that the proxy sees, because it ends the TLS. nullopt: it passes.
namespace skiff::container::egress {

/// Longest path in the log and in refusals.
inline constexpr std::size_t kLoggedPath = 1024;

/// Judges what all requests of a tunnel have to be.
[[nodiscard]] std::optional<Refusal> judge_request(const protocol::HttpRequest& request, const Target& tunnel);
/// Judges a method and a path by the requests that the secret is for.
[[nodiscard]] std::optional<Refusal> judge_path(const Secret& secret, const std::string& method,
                                                const protocol::Target& path);
/// Judges the request by all that the secret is for.
[[nodiscard]] std::optional<Refusal> judge_use(const Secret& secret, const protocol::HttpRequest& request);
/// Refuses a placeholder of another secret: it would tell one host that the sandbox works with the other.
[[nodiscard]] std::optional<Refusal> judge_placeholders(const Terminator& terminator, const Secret& secret,
                                                        const protocol::HttpRequest& request);
/// The refusal of a body that is larger than the secret is for.
[[nodiscard]] Refusal too_large(const Secret& secret);

}  // namespace skiff::container::egress
