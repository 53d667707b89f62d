#pragma once

#include "runtime/api/call.hpp"

/// The handlers of /mcp: the Model Context Protocol over Streamable HTTP.
namespace skiff::runtime::mcp {

/// Handles POST: one message of a client, or, in revision 2025-03-26, a batch of them. A request is answered as JSON,
/// or as server-sent events that end with its answer.
[[nodiscard]] Task<Result<>> receive_message(api::Call& call);
/// Handles GET, up to revision 2025-11-25: sends the messages that belong to no request. With Last-Event-ID it sends
/// the rest of a stream whose connection broke.
[[nodiscard]] Task<Result<>> send_news(api::Call& call);
/// Handles DELETE, up to revision 2025-11-25: ends the client's session.
[[nodiscard]] Task<Result<>> end_session(api::Call& call);

}  // namespace skiff::runtime::mcp
