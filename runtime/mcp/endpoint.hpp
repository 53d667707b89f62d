#pragma once

#include "runtime/api/call.hpp"

/// The handlers of /mcp: the Model Context Protocol over Streamable HTTP.
namespace skiff::runtime::mcp {

/// POST: one message of a client, or, in revision 2025-03-26, some. A request is answered as JSON, or as server-sent
/// events that end with its answer.
[[nodiscard]] Task<Result<>> receive_message(api::Call& call);
/// GET, up to revision 2025-11-25: what is told without being asked for; with Last-Event-ID the rest of a stream whose
/// connection broke.
[[nodiscard]] Task<Result<>> send_news(api::Call& call);
/// DELETE, up to revision 2025-11-25.
[[nodiscard]] Task<Result<>> end_session(api::Call& call);

}  // namespace skiff::runtime::mcp
