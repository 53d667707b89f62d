#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

/// The frames of a Socket.IO client over a WebSocket: Engine.IO protocol 4, and in its messages Socket.IO protocol 5,
/// text only (https://socket.io/docs/v4/engine-io-protocol, https://socket.io/docs/v4/socket-io-protocol).
namespace skiff::protocol::socket_io {

/// The first character of a frame that a client may send over a WebSocket.
enum class FrameType : char { close = '1', pong = '3', message = '4' };

struct Frame {
  FrameType type = FrameType::message;
  std::string_view content;  ///< view into the frame's text
};
/// Parses a frame. Errors: invalid_request.
[[nodiscard]] Result<Frame> parse_frame(std::string_view text);

/// The first frame of the server.
struct Opening {
  std::string id;
  std::chrono::milliseconds ping_interval{};
  std::chrono::milliseconds ping_timeout{};
  std::size_t max_payload = 0;  ///< limit of a frame, in bytes
};
[[nodiscard]] std::string to_frame(const Opening& opening);
/// The client responds to it with a pong.
inline constexpr std::string_view kPingFrame = "2";

/// The first digit of a message. 4 is only for clients; 5 and 6 have binary attachments, which are not supported.
enum class PacketType : std::uint8_t { connect, disconnect, event, ack };

struct Packet {
  PacketType type = PacketType::event;
  std::optional<std::uint64_t> id = {};  ///< of an event: the client wants an acknowledgement; of an ack: the event
                                         ///< that it acknowledges
  std::string_view payload = {};         ///< a JSON array or object, by its first character, or empty
  std::string_view other = {};           ///< of a connect: the unknown namespace that it asks for; empty: `/`, the only
                                         ///< one that exists
};
/// Parses `TYPE[NAMESPACE,][ID][PAYLOAD]`; checks only the first character of the payload. Errors: invalid_request.
[[nodiscard]] Result<Packet> parse_packet(std::string_view message);
/// Returns the frame of a message with this packet.
[[nodiscard]] std::string to_frame(const Packet& packet);
/// Returns the frame that refuses a connection to a namespace; the client keeps its other connections.
[[nodiscard]] std::string refusal_frame(std::string_view other);

/// Parses the payload of an event: an array that begins with its name. Errors: invalid_request for another payload.
[[nodiscard]] Result<nlohmann::json> parse_event(std::string_view payload);
/// Returns the beginning of an event's frame, `42[ID]["NAME",{`; append the members of its data, and `}]`.
[[nodiscard]] std::string begin_event(std::string_view name, std::optional<std::uint64_t> id = {});

/// Parses digits; returns nothing for a number above 2^53 - 1, as JavaScript's numbers are doubles.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view digits);

}  // namespace skiff::protocol::socket_io
