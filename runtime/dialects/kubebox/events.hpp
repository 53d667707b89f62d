#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// The events of a connection.
namespace skiff::runtime::dialects::kubebox {

/// The session and the process of an event, from a client or for one.
struct EventData {
  std::string session_id;  ///< the client's id of it
  std::optional<std::uint64_t> process_id = {};
};
struct ClientEvent {
  std::string name;
  EventData data;
};
/// Reads `["NAME", {"session_id", "process_id"?}]`; other members are ignored. Errors: invalid_request if it is not an
/// event's payload at all.
[[nodiscard]] Result<ClientEvent> parse_client_event(std::string_view payload);

/// Appends the end of an event's frame: `"session_id","process_id"?}]`.
void end_event(std::string& frame, const EventData& data);
/// The whole frame of `command_exit`.
[[nodiscard]] std::string exit_event(const EventData& data, int code, std::optional<std::uint64_t> id = {});

/// Reads a process id as clients return it: a JSON integer, or its digits in a string. Nothing for any other value.
[[nodiscard]] std::optional<std::uint64_t> process_id_of(const nlohmann::json& value);

}  // namespace skiff::runtime::dialects::kubebox
