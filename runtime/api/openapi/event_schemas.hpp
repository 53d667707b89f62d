#pragma once

#include <vector>

#include "protocol/json/openapi.hpp"
#include "runtime/api/answers/schema_parts.hpp"

/// The schemas of the events of streams and WebSockets, for the OpenAPI and AsyncAPI documents and for docs/events.md.
namespace skiff::runtime::api {

using Schemas = std::vector<protocol::SchemaRef>;

/// The events of a command's log: each a line of NDJSON, or the data of a server-sent event.
[[nodiscard]] Schemas stream_events();
/// The messages of the server on a WebSocket; those of the client are in runtime/api/sockets/messages.hpp.
[[nodiscard]] Schemas server_messages();
/// The lines of files:glob, those of files:grep, and the events of files:watch.
[[nodiscard]] Schemas glob_records();
[[nodiscard]] Schemas grep_records();
[[nodiscard]] Schemas watch_events();

// The events as one object each, for the OpenAPI document, because client generators differ too much in their
// support for unions.
[[nodiscard]] protocol::SchemaRef event_schema();
/// A line of the code that runs.
[[nodiscard]] protocol::SchemaRef code_event_schema();
[[nodiscard]] protocol::SchemaRef glob_record_schema();
[[nodiscard]] protocol::SchemaRef grep_record_schema();
[[nodiscard]] protocol::SchemaRef watch_event_schema();

}  // namespace skiff::runtime::api
