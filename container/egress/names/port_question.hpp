#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "container/egress/host_name.hpp"

/// The question of the name server in a sandbox, which has to listen for programs that know no proxy: on which ports
/// may the sandbox reach a host? It is a request to the proxy itself.
namespace skiff::container::egress {

/// Most ports in an answer; the lowest ones of a host that rules name more of.
inline constexpr std::size_t kMostPortsOfHost = 64;

/// The host in the target of such a question, as it was sent; nullopt: it is another request.
[[nodiscard]] std::optional<std::string_view> host_in_question(std::string_view method, std::string_view target);

/// The answer, `{"ports": [443]}`, as bytes for a connection that ends with it.
[[nodiscard]] std::string port_answer(std::span<const Target> targets);

}  // namespace skiff::container::egress
