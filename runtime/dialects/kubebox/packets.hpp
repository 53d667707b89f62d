#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// What goes over the WebSocket: Engine.IO protocol 4, and in its messages Socket.IO protocol 5, text alone
/// (https://socket.io/docs/v4/engine-io-protocol, https://socket.io/docs/v4/socket-io-protocol).
namespace skiff::runtime::dialects::kubebox {

/// The first character of a frame. Those that only a client of HTTP long polling sends are not taken.
enum class FrameType : char { open = '0', close = '1', ping = '2', pong = '3', message = '4' };

struct Frame {
  FrameType type = FrameType::message;
  std::string_view content;  ///< into the frame's text
};
/// What a client may send: close, pong and message. Errors: invalid_request.
[[nodiscard]] Result<Frame> parse_frame(std::string_view text);

/// The first digit of a message. 5 and 6 are followed by binary attachments, which are not taken.
enum class PacketType : std::uint8_t { connect, disconnect, event, ack, connect_error };

struct Packet {
  PacketType type = PacketType::event;
  std::string_view name_space = "/";
  std::optional<std::uint64_t> id;  ///< of an event: it is to be acknowledged; of an ack: what it answers
  std::string_view payload;         ///< a JSON array or object, by its first character, or empty
};
inline constexpr std::size_t kLongestNamespace = 128;
/// `TYPE[NAMESPACE,][ID][PAYLOAD]`; the payload is not looked into further. Errors: invalid_request.
[[nodiscard]] Result<Packet> parse_packet(std::string_view message);
/// As the content of a message.
void append_packet(std::string& out, const Packet& packet);

/// What the clients' events carry, all of them.
struct EventData {
  std::string session_id;
  std::optional<std::uint64_t> process_id;
};
struct ClientEvent {
  std::string name;
  EventData data;
};
/// `["NAME", {"session_id", "process_id"?}]`: what else is there is passed over. Errors: invalid_request when it is not
/// an event's payload at all.
[[nodiscard]] Result<ClientEvent> parse_event(std::string_view payload);

/// A process id as clients give it back: a JSON integer, or its digits in a string. Nothing for any other value.
[[nodiscard]] std::optional<std::uint64_t> process_id_of(const nlohmann::json& value);

}  // namespace skiff::runtime::dialects::kubebox
