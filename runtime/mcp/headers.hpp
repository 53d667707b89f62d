#pragma once

#include <string_view>

#include "protocol/http/message.hpp"
#include "runtime/mcp/message.hpp"

/// The header fields of a request.
namespace skiff::runtime::mcp {

inline constexpr std::string_view kSessionField = "Mcp-Session-Id";
inline constexpr std::string_view kVersionField = "MCP-Protocol-Version";

/// Whether the client accepts this media type: Accept is absent, or names it or a range that holds it.
[[nodiscard]] bool accepts(const protocol::Headers& headers, std::string_view type);

/// Whether a request belongs to a revision without a handshake: its body or its header says so. `initialize` is a
/// handshake, whatever its header says.
[[nodiscard]] bool is_stateless(const protocol::Headers& headers, const Message& message);

/// Checks the header fields that a request has from 2026-07-28 on. They repeat its revision, method and name for
/// proxies, and must agree with the body. Errors: invalid_params for a body that does not say them, header_mismatch,
/// unsupported_version.
[[nodiscard]] RpcResult<void> check_headers(const protocol::Headers& headers, const Message& message);

[[nodiscard]] RpcError unsupported_revision(std::string_view asked);

}  // namespace skiff::runtime::mcp
