#pragma once

#include <vector>

#include "protocol/json/openapi.hpp"
#include "runtime/api/schema_parts.hpp"

/// What streams and WebSockets carry, for the OpenAPI document and the page docs/events.md.
namespace skiff::runtime::api {

/// An event of a command's log: NDJSON and SSE.
[[nodiscard]] protocol::SchemaRef event_schema();
/// A line of files:glob, and one of files:grep.
[[nodiscard]] protocol::SchemaRef glob_record_schema();
[[nodiscard]] protocol::SchemaRef grep_record_schema();

/// `members`, and those that tell how a command ended; `always` where it has.
[[nodiscard]] std::vector<Member> with_exit(std::vector<Member> members, bool always);

/// Every component that this file knows and what they consist of, those of runtime/api/sockets/messages.hpp included:
/// no operation of an OpenAPI document can name the messages of a WebSocket.
[[nodiscard]] std::vector<protocol::SchemaRef> event_components();

}  // namespace skiff::runtime::api
