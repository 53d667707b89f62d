#include "runtime/dialects/kubebox/events.hpp"

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"
#include "protocol/socket_io/packets.hpp"

namespace skiff::runtime::dialects::kubebox {

using protocol::socket_io::parse_number;

Result<ClientEvent> parse_client_event(std::string_view payload) {
  SKIFF_TRY(const auto parsed, protocol::socket_io::parse_event(payload));
  ClientEvent event{.name = parsed.front().get<std::string>(), .data = {}};
  if (parsed.size() < 2 || !parsed[1].is_object()) return event;
  const auto& data = parsed[1];
  if (const auto found = data.find("session_id"); found != data.end() && found->is_string()) {
    event.data.session_id = found->get<std::string>();
  }
  if (const auto found = data.find("process_id"); found != data.end()) event.data.process_id = process_id_of(*found);
  return event;
}

void end_event(std::string& frame, const EventData& data) {
  protocol::append_json_text(frame, "session_id", data.session_id);
  if (data.process_id) protocol::append_json_number(frame, "process_id", *data.process_id);
  frame += "}]";
}

std::string exit_event(const EventData& data, int code, std::optional<std::uint64_t> id) {
  std::string frame = protocol::socket_io::begin_event("command_exit", id);
  protocol::append_json_key(frame, "exit_code");
  protocol::append_json_integer(frame, std::int64_t{code});
  end_event(frame, data);
  return frame;
}

std::optional<std::uint64_t> process_id_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return parse_number(std::to_string(value.get<std::uint64_t>()));
  if (value.is_string()) return parse_number(value.get_ref<const std::string&>());
  return std::nullopt;
}

}  // namespace skiff::runtime::dialects::kubebox
