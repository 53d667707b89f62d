#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"
#include "container/agent/stream/command_events.hpp"
#include "container/agent/token.hpp"

namespace skiff::container {

/// One command of a sandbox: its output as it comes, its input and its signals. A broken connection is opened again and
/// the output continues at its offset, so no output is lost or repeated, and the command is started once. Output that
/// the agent itself had to drop is a `gap`. One coroutine calls `next`; others may feed and signal at the same time.
class CommandStream {
 public:
  using Event = CommandEvent;

  /// How long the connection may be broken before the caller gets an error.
  static constexpr std::chrono::milliseconds kPatience{30'000};
  /// The agent closes a connection when its token expires; a new one takes over before that.
  static constexpr std::chrono::milliseconds kRenewal = std::chrono::milliseconds{kTokenLifetime} * 3 / 4;

  /// `session` and `id` name the command. The endpoint is copied for each connection.
  CommandStream(Executor executor, const Endpoint& endpoint, std::string session, std::string id,
                std::chrono::milliseconds patience = kPatience, std::chrono::milliseconds renewal = kRenewal);
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  /// The first `next` starts the command, once, whatever happens to the connection. `request` is the body of `POST
  /// .../commands` without id and mode.
  void start(nlohmann::json request);
  /// How an existing command is joined.
  struct Join {
    std::uint64_t from = 0;  ///< offset of the first output that is wanted
    std::uint64_t fed = 0;   ///< number of bytes that its stdin has taken so far
    bool lossless = true;    ///< the command waits for this reader, as it would for a pipe
  };
  void attach(Join join);

  /// The next event; do not call it after `exit`. Errors: the agent's refusal; `invalid_request` when the agent breaks
  /// the protocol; `io_error` and `timeout` when no connection has delivered anything for `patience`.
  [[nodiscard]] Task<Result<Event>> next();

  /// Feeds stdin and ends when the command has taken the bytes. `stdin_closed` and `command_ended` mean that the
  /// command reads no more.
  [[nodiscard]] Task<Result<>> feed(std::string bytes);
  [[nodiscard]] Task<Result<>> end_input();
  /// "INT", "TERM", ...; with `or_kill_after` the whole tree is killed if it still lives after that time.
  [[nodiscard]] Task<Result<>> signal(std::string name, std::optional<std::chrono::milliseconds> or_kill_after = {});
  [[nodiscard]] Task<Result<>> resize(int columns, int rows);

  [[nodiscard]] const std::string& id() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace skiff::container
