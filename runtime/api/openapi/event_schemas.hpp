#pragma once

#include <vector>

#include "protocol/json/openapi.hpp"
#include "runtime/api/answers/schema_parts.hpp"

/// What streams and WebSockets carry, for the OpenAPI and AsyncAPI documents and the page docs/events.md.
namespace skiff::runtime::api {

using Schemas = std::vector<protocol::SchemaRef>;

/// The events of a command's log: each a line of NDJSON, or the data of a server-sent event.
[[nodiscard]] Schemas stream_events();
/// What the server sends on a WebSocket; what a client sends is in runtime/api/sockets/messages.hpp.
[[nodiscard]] Schemas server_messages();
/// The lines of files:glob, those of files:grep, and the events of files:watch.
[[nodiscard]] Schemas glob_records();
[[nodiscard]] Schemas grep_records();
[[nodiscard]] Schemas watch_events();

// The same as one object each, for the OpenAPI document: what generators of clients make of a union differs too much.
[[nodiscard]] protocol::SchemaRef event_schema();
[[nodiscard]] protocol::SchemaRef glob_record_schema();
[[nodiscard]] protocol::SchemaRef grep_record_schema();
[[nodiscard]] protocol::SchemaRef watch_event_schema();

}  // namespace skiff::runtime::api
