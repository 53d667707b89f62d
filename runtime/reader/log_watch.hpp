#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/async/deadline.hpp"
#include "base/async/expiry.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "sessions/output/log.hpp"

namespace skiff::protocol {
class HttpExchange;
}

namespace skiff::runtime {

/// The reason why a wait on a log has ended.
enum class Wake : std::uint8_t {
  output,       ///< the log has changed, or may have
  keepalive,    ///< nothing was sent for the keepalive time: a keep-alive is due
  release,      ///< the reader has held a part back for long enough
  overdue,      ///< the reader's time limit is over
  expired,      ///< the client's token has expired
  client_gone,  ///< the client has disconnected
};

/// A client's wait on the log of a command. It ends when the log changes, or when another event occurs that the client
/// must get. It must outlive its tasks. Reactor thread only.
class LogWatch {
 public:
  struct Options {
    std::chrono::milliseconds keepalive{0};  ///< a keep-alive is due after so much silence; 0: never
    std::optional<SteadyTime> until = {};    ///< the reader's time limit
    std::optional<WallTime> token_end = {};  ///< when the client's token expires
  };
  LogWatch(Executor executor, std::shared_ptr<sessions::OutputLog> log, Options options);
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  /// Notes when the client disconnects. Run it beside the answer (base/async/beside.hpp).
  [[nodiscard]] Task<> watch_peer(protocol::HttpExchange& http);
  /// Waits for the command's exit, for which it returns `output`. Call it again after any other result.
  [[nodiscard]] Task<Wake> until_exit();
  /// Lets output accumulate: ends after `time`, or at the command's exit.
  [[nodiscard]] Task<> gather(std::chrono::milliseconds time);

  [[nodiscard]] bool client_gone() const noexcept { return client_gone_; }
  [[nodiscard]] bool expired() const noexcept { return expired_; }

 protected:
  /// Returns the most urgent event. `output` means that there is none beside the log's own; the caller then waits on
  /// the log without suspending before. `holding`: the reader holds a part of an item back.
  [[nodiscard]] Wake look(bool holding);
  [[nodiscard]] bool overdue() const;
  /// Restarts the keepalive time.
  void note_sent() noexcept { sent_ = true; }
  [[nodiscard]] const std::shared_ptr<sessions::OutputLog>& log() const noexcept { return log_; }

 private:
  void set_alarm(SteadyTime time);

  Executor executor_;
  std::shared_ptr<sessions::OutputLog> log_;
  std::chrono::milliseconds keepalive_;
  SteadyTime until_;
  SteadyTime quiet_at_ = SteadyTime::max();
  SteadyTime release_at_ = SteadyTime::max();
  std::optional<Deadline> alarm_;   ///< for the earliest of these times; most readers need none
  std::unique_ptr<Expiry> expiry_;  ///< null for a token that does not expire
  bool sent_ = true;
  bool expired_ = false;
  bool client_gone_ = false;
};

}  // namespace skiff::runtime
