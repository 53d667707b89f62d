#pragma once

#include <span>
#include <string_view>

namespace skiff::container::egress {

/// The files of an egress proxy in the directory of its sandbox.
inline constexpr std::string_view kPolicyFile = "egress.json";
/// The names of its secrets, a JSON array.
inline constexpr std::string_view kSecretsFile = "egress-secrets.json";
/// Begins the names of the files that its sandbox has to trust if it has secrets: protocol::kTrustFiles. The proxy
/// fills them. They exist and stay the same files.
inline constexpr std::string_view kTrustPrefix = "egress-";
/// The socket for its owner: each connection lets the proxy read the policy again, and is answered with `ok`, or with
/// why the policy stays as it was.
inline constexpr std::string_view kControlSocket = "egress-control.sock";
/// What it answers.
inline constexpr std::string_view kDone = "ok\n";

/// True for the words of `skiff egress serve`, which is not for people.
[[nodiscard]] bool is_serve(std::span<const char* const> arguments);

/// `skiff egress serve DIRECTORY NAME PID TICKS`: the egress proxy of the sandbox NAME, whose directory and process
/// these are. It listens on the bound sockets that it has as stdin (TCP, in the sandbox's network namespace) and stdout
/// (Unix, for control), and ends with that process. Returns the exit status.
[[nodiscard]] int serve(std::span<const char* const> arguments);

}  // namespace skiff::container::egress
