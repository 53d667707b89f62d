#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "protocol/net/address.hpp"

namespace skiff::runtime::egress {

/// Proves that the sandbox's network leads to its egress proxy alone. The proxy has a second port, the canary, that
/// only the NetworkPolicy closes: while it accepts a connection, there is no fence. A policy that exists proves
/// nothing, because networks apply it late. Reactor thread only.
class Fence {
 public:
  enum class State : std::uint8_t {
    waiting,  ///< not fenced yet: no command may run
    fenced,
    lost,  ///< it was fenced; now the canary answers, or the proxy does not
  };
  struct Options {
    protocol::Address proxy;
    protocol::Address canary;
    std::chrono::milliseconds between{100};      ///< from one look to the next, until it is fenced
    std::chrono::milliseconds again{30'000};     ///< and afterwards
    std::chrono::milliseconds connect{500};      ///< a canary that has not answered by then is closed
    std::chrono::milliseconds patience{10'000};  ///< how long a proxy that has answered may be away
  };

  Fence(Executor executor, Options options);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence() = default;  // `stop()` must have ended

  /// Looks from now on.
  void start();
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::string_view word() const noexcept;
  /// The reason for a state other than `fenced`, for people.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  /// Ends in that state.
  [[nodiscard]] Task<> until(State wanted);
  /// Ends when the state or its reason has changed.
  [[nodiscard]] Task<> changed() { return changed_.wait(); }
  [[nodiscard]] Task<> stop();

 private:
  enum class Seen : std::uint8_t { answers, is_closed, unknown };
  static Task<> watch(Fence* self);
  [[nodiscard]] Task<Seen> look_at(protocol::Address address);
  [[nodiscard]] Task<> look();
  void become(State state, std::string why);

  Executor executor_;
  Options options_;
  State state_ = State::waiting;
  std::string why_ = "the network was not looked at yet";
  std::chrono::steady_clock::time_point answered_;  ///< when the proxy last answered
  Event changed_;
  TaskGroup tasks_;
};

}  // namespace skiff::runtime::egress
