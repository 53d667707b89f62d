#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// What goes over the WebSocket of a Socket.IO client: Engine.IO protocol 4, and in its messages Socket.IO protocol 5,
/// text alone (https://socket.io/docs/v4/engine-io-protocol, https://socket.io/docs/v4/socket-io-protocol).
namespace skiff::protocol::socket_io {

/// The first character of what a client may send over a WebSocket.
enum class FrameType : char { close = '1', pong = '3', message = '4' };

struct Frame {
  FrameType type = FrameType::message;
  std::string_view content;  ///< into the frame's text
};
/// Errors: invalid_request.
[[nodiscard]] Result<Frame> parse_frame(std::string_view text);

/// What the server sends first.
struct Opening {
  std::string id;
  std::chrono::milliseconds ping_interval{};
  std::chrono::milliseconds ping_timeout{};
  std::size_t max_payload = 0;  ///< of a frame, in bytes
};
[[nodiscard]] std::string to_frame(const Opening& opening);
/// Which a client answers with a pong.
inline constexpr std::string_view kPingFrame = "2";

/// The first digit of a message. 4 is for clients alone; 5 and 6 are followed by binary attachments, which are not
/// taken.
enum class PacketType : std::uint8_t { connect, disconnect, event, ack };

struct Packet {
  PacketType type = PacketType::event;
  std::optional<std::uint64_t> id = {};  ///< of an event: it is to be acknowledged; of an ack: what it answers
  std::string_view payload = {};         ///< a JSON array or object, by its first character, or empty
  std::string_view other = {};           ///< of a connect: a namespace that is not there; empty: the one that is, `/`
};
/// `TYPE[NAMESPACE,][ID][PAYLOAD]`; the payload is not looked into further. Errors: invalid_request.
[[nodiscard]] Result<Packet> parse_packet(std::string_view message);
/// The frame of a message with this packet.
[[nodiscard]] std::string to_frame(const Packet& packet);
/// The frame that refuses a connection to a namespace: the client goes on with those that it has.
[[nodiscard]] std::string refusal_frame(std::string_view other);

/// The payload of an event: an array that begins with its name. Errors: invalid_request when it is none.
[[nodiscard]] Result<nlohmann::json> parse_event(std::string_view payload);
/// The beginning of an event's frame, `42[ID]["NAME",{`: for the members of its data, and `}]`.
[[nodiscard]] std::string begin_event(std::string_view name, std::optional<std::uint64_t> id = {});

/// Digits alone; nothing for a number above 2^53 - 1: JavaScript counts in doubles.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view digits);

}  // namespace skiff::protocol::socket_io
