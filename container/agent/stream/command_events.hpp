#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::container {

/// How a command ended, from an `exit` event or the result of a command.
struct CommandExit {
  std::string cause = {};
  std::optional<int> exit_code = {};
  std::string signal = {};
  std::string error = {};  ///< why it could not be started

  /// Takes the fields that have the right type; the other fields stay empty.
  [[nodiscard]] static CommandExit of(const nlohmann::json& said);
};

struct CommandEvent {
  enum class Kind : std::uint8_t { started, output, gap, exit };
  Kind kind = Kind::output;
  bool is_stderr = false;
  std::string bytes = {};        ///< bytes of an `output` event
  std::uint64_t offset = 0;      ///< offset of its first byte, both streams counted together
  std::uint64_t lost_bytes = 0;  ///< number of bytes that a `gap` stands for
  CommandExit exit = {};
};

/// Turns the messages of /v1/connect about one command into events, over any number of connections; an event that an
/// earlier connection reported is not reported again. The agent is not trusted: whatever it sends, no byte of the log
/// comes twice or out of order, and nothing throws.
class CommandEvents {
 public:
  /// For a command that is to be started.
  CommandEvents() = default;
  /// For a command that the agent knows, with its output from `offset` on.
  explicit CommandEvents(std::uint64_t offset) : started_{true}, next_offset_{offset} {}

  /// Returns no event for a message without news. Errors: the agent's own; invalid_request for a message that
  /// contradicts the protocol.
  [[nodiscard]] Result<std::optional<CommandEvent>> take(protocol::WebSocket::Message message);

  /// Whether the agent knows the command.
  [[nodiscard]] bool started() const noexcept { return started_; }
  /// Offset of the first byte that was not reported yet.
  [[nodiscard]] std::uint64_t next_offset() const noexcept { return next_offset_; }

 private:
  Result<std::optional<CommandEvent>> take_output(std::string frame);
  Result<std::optional<CommandEvent>> take_gap(const nlohmann::json& said);

  bool started_ = false;
  bool announced_ = false;  ///< `started` was given to the caller
  std::uint64_t next_offset_ = 0;
};

}  // namespace skiff::container
