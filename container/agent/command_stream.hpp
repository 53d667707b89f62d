#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"
#include "container/agent/command_events.hpp"
#include "container/agent/token.hpp"

namespace skiff::container {

/// One command of a sandbox: what it says, as it says it, and what it is told. Connections that break are made again
/// and the output goes on at its offset, so nothing is lost, repeated or started twice; only when the agent itself had
/// to drop output is that a `gap`. One coroutine calls `next`, others may feed and signal at the same time.
class CommandStream {
 public:
  using Event = CommandEvent;

  /// How long a connection may be away before its user is told.
  static constexpr std::chrono::milliseconds kPatience{30'000};
  /// A connection lasts no longer than its token; the next one takes over before.
  static constexpr std::chrono::milliseconds kRenewal = std::chrono::milliseconds{kTokenLifetime} * 3 / 4;

  /// `session` and `id` name the command; the endpoint is copied for the connections that are needed.
  CommandStream(Executor executor, const Endpoint& endpoint, std::string session, std::string id,
                std::chrono::milliseconds patience = kPatience, std::chrono::milliseconds renewal = kRenewal);
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  /// The command is started by the first `next`, once, whatever happens to the connection. `request` is the body of
  /// `POST .../commands` without id and mode.
  void start(nlohmann::json request);
  /// How an existing command is joined.
  struct Join {
    std::uint64_t from = 0;  ///< offset of the first output that is wanted
    std::uint64_t fed = 0;   ///< what its stdin has taken so far
    bool lossless = true;    ///< the command waits for this reader, as it would for a pipe
  };
  void attach(Join join);

  /// The next event; after `exit` call it no more. Errors: what the agent refuses; `invalid_request` when it talks
  /// nonsense; `io_error` and `timeout` when no connection has told anything for the length of the patience.
  [[nodiscard]] Task<Result<Event>> next();

  /// Feeds stdin and ends when the command has taken the bytes. `stdin_closed` and `command_ended` mean that nobody
  /// reads any more.
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
