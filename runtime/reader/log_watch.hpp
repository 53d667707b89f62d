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

/// Why a wait on a log has ended.
enum class Wake : std::uint8_t {
  output,       ///< the log has changed, or may have
  keepalive,    ///< nothing was sent for the keepalive time: a sign of life is due
  release,      ///< what the reader holds back was held for long enough
  overdue,      ///< the reader's time is over
  expired,      ///< the client's token has expired
  client_gone,  ///< nobody is left to read
};

/// A client's wait on the log of a command: it ends when the log changes, and when something else happens that the
/// client must be told. Outlives its tasks. Reactor thread only.
class LogWatch {
 public:
  struct Options {
    std::chrono::milliseconds keepalive{0};  ///< a sign of life is due after so much silence; 0: never
    std::optional<SteadyTime> until = {};    ///< the end of the reader's time
    std::optional<WallTime> token_end = {};  ///< when the client's token expires
  };
  LogWatch(Executor executor, std::shared_ptr<sessions::OutputLog> log, Options options);
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  /// Notes that the client has gone. RemovalPrecondition to run beside the answer (base/async/beside.hpp).
  [[nodiscard]] Task<> watch_peer(protocol::HttpExchange& http);
  /// Waits for the command's exit, which is told as `output`. It may be called again after any other cause.
  [[nodiscard]] Task<Wake> until_exit();
  /// Lets output gather: ends after `time`, or at the command's exit.
  [[nodiscard]] Task<> gather(std::chrono::milliseconds time);

  [[nodiscard]] bool client_gone() const noexcept { return client_gone_; }
  [[nodiscard]] bool expired() const noexcept { return expired_; }

 protected:
  /// What has happened, the most urgent first. `output`: nothing but what the log itself shows; the caller then waits
  /// on the log without suspending before. `holding`: the reader holds something back for a moment.
  [[nodiscard]] Wake look(bool holding);
  [[nodiscard]] bool overdue() const;
  /// The keepalive time begins anew.
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
  std::optional<Deadline> alarm_;   ///< for the earliest of these times; thousands of readers need none
  std::unique_ptr<Expiry> expiry_;  ///< null for a token without an end
  bool sent_ = true;
  bool expired_ = false;
  bool client_gone_ = false;
};

}  // namespace skiff::runtime
