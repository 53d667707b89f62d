#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// The events of a connection.
namespace skiff::runtime::dialects::kubebox {

/// What the events are about, those of clients and those for them.
struct EventData {
  std::string session_id;  ///< as the client calls it
  std::optional<std::uint64_t> process_id = {};
};
struct ClientEvent {
  std::string name;
  EventData data;
};
/// `["NAME", {"session_id", "process_id"?}]`: what else is there is passed over. Errors: invalid_request when it is not
/// an event's payload at all.
[[nodiscard]] Result<ClientEvent> parse_client_event(std::string_view payload);

/// `"session_id","process_id"?}]`: the end of an event's frame.
void end_event(std::string& frame, const EventData& data);
/// The whole frame of `command_exit`.
[[nodiscard]] std::string exit_event(const EventData& data, int code, std::optional<std::uint64_t> id = {});

/// A process id as clients give it back: a JSON integer, or its digits in a string. Nothing for any other value.
[[nodiscard]] std::optional<std::uint64_t> process_id_of(const nlohmann::json& value);

}  // namespace skiff::runtime::dialects::kubebox
