#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "protocol/json/openapi.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/auth/scopes.hpp"

/// The messages of clients on WebSockets.
namespace skiff::runtime::api {

/// The protocol of a WebSocket.
enum class SocketForm : std::uint8_t {
  json,      ///< skiff.v1.json: every frame is one JSON object
  binary,    ///< skiff.v1.binary: output and stdin as binary frames with a header, control as JSON
  terminal,  ///< /v1/shell: bytes of a terminal
};

struct StartMessage {
  std::string session{"default"};
  CommandRequest request;
  bool until_end = false;
};
struct AttachMessage {
  std::string session{"default"};
  std::string id;
  std::uint64_t from = 0;
  bool lossless = false;
  bool until_end = false;
};
struct DetachMessage {};
struct StdinMessage {
  std::string bytes;
  std::optional<std::uint64_t> offset;
};
struct StdinCloseMessage {};
struct SignalMessage {
  SignalRequest request;
};
struct ResizeMessage {
  sessions::TerminalSize size;
};
struct PingMessage {
  std::string data;
};

struct ClientMessage {
  std::uint32_t channel = 0;
  std::variant<StartMessage, AttachMessage, DetachMessage, StdinMessage, StdinCloseMessage, SignalMessage,
               ResizeMessage, PingMessage>
      body;
};

/// The scope that a message requires, in addition to that of the upgrade.
[[nodiscard]] Scope scope_of(const ClientMessage& message);

/// Parses any frame of a client. `channel` is set to the channel that it names, even if the rest is wrong. Errors:
/// those of `parse_client_message` and `parse_terminal_message`; invalid_request for a binary frame that is not stdin,
/// and for any binary frame of skiff.v1.json.
[[nodiscard]] Result<ClientMessage> parse_frame(SocketForm form, protocol::WebSocket::Message frame,
                                                std::uint32_t& channel);
/// Parses a text frame: `{"type": "stdin", "channel": 1, ...}`. `channel` is set to the channel that it names, even if
/// the rest is wrong. Errors: malformed_json and invalid_request for a frame that is not a message (`is_bad_frame`: the
/// connection is closed with 1002); those of protocol/json/schema.hpp for wrong fields.
[[nodiscard]] Result<ClientMessage> parse_client_message(std::string_view text, std::uint32_t& channel);
[[nodiscard]] constexpr bool is_bad_frame(Errc code) noexcept {
  return code == Errc::malformed_json || code == Errc::invalid_request;
}
/// Parses a text frame of /v1/shell: `{"resize":{"cols":80,"rows":24}}`.
[[nodiscard]] Result<sessions::TerminalSize> parse_terminal_message(std::string_view text);

/// The schemas of the messages that these two parse, from the same field lists.
[[nodiscard]] std::vector<protocol::SchemaRef> client_messages();
[[nodiscard]] protocol::SchemaRef terminal_message();

}  // namespace skiff::runtime::api
