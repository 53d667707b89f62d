#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::container {

/// How a command ended, as an `exit` event or the result of a command says it.
struct CommandExit {
  std::string cause = {};
  std::optional<int> exit_code = {};
  std::string signal = {};
  std::string error = {};  ///< why it could not be started

  /// Takes what has the right type; the rest stays as it is here.
  [[nodiscard]] static CommandExit of(const nlohmann::json& said);
};

struct CommandEvent {
  enum class Kind : std::uint8_t { started, output, gap, exit };
  Kind kind = Kind::output;
  bool is_stderr = false;
  std::string bytes = {};        ///< of `output`
  std::uint64_t offset = 0;      ///< of its first byte, both streams counted together
  std::uint64_t lost_bytes = 0;  ///< of `gap`
  CommandExit exit = {};
};

/// Makes events of the messages of /v1/connect about one command, over any number of connections: what an earlier one
/// has told is not told again. The agent is not trusted: whatever it sends, no byte of the log comes twice or out of
/// its order, and nothing throws.
class CommandEvents {
 public:
  /// Of a command that is to be started.
  CommandEvents() = default;
  /// Of one that the agent knows, with its output from `offset` on.
  explicit CommandEvents(std::uint64_t offset) : started_{true}, next_offset_{offset} {}

  /// Nothing for a message that holds nothing new. Errors: the agent's own; invalid_request for what it can't mean.
  [[nodiscard]] Result<std::optional<CommandEvent>> take(protocol::WebSocket::Message message);

  /// Whether the agent knows the command.
  [[nodiscard]] bool started() const noexcept { return started_; }
  /// Of the first byte that was not told yet.
  [[nodiscard]] std::uint64_t next_offset() const noexcept { return next_offset_; }

 private:
  Result<std::optional<CommandEvent>> take_output(std::string frame);
  Result<std::optional<CommandEvent>> take_gap(const nlohmann::json& said);

  bool started_ = false;
  bool announced_ = false;  ///< `started` was given to the caller
  std::uint64_t next_offset_ = 0;
};

}  // namespace skiff::container
