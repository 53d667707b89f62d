#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/clock.hpp"

namespace skiff::runtime {

/// Whether the sandbox is in use, and for how long it may go on: a lease that somebody has to renew, and a time that it
/// may be idle. It is idle while no request that counts as use is being answered, no WebSocket is open and no command
/// lives. All of it is measured by the steady clock: the wall clock, which may be set, is what times are shown in.
/// Reactor thread only.
class Activity {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using WallClock = std::function<WallTime()>;

  /// `over` is called once, from the reactor, when the lease or the idle time is over; its argument says which.
  Activity(Executor executor, std::function<void(std::string_view why)> over, WallClock wall = wall_now);

  /// Something began, and ends with `end`. Any number at a time.
  void begin() noexcept;
  void end();

  /// Holds the sandbox in use as long as it lives.
  class Use {
   public:
    explicit Use(Activity& activity) noexcept : activity_{&activity} { activity.begin(); }
    Use(Use&& other) noexcept : activity_{std::exchange(other.activity_, nullptr)} {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (activity_ != nullptr) activity_->end();
    }

   private:
    Activity* activity_;
  };

  /// The lease runs `ttl` from now on; nothing: there is none.
  void lease(std::optional<Milliseconds> ttl);
  /// It may be idle for `ttl`; nothing: for ever.
  void idle_limit(std::optional<Milliseconds> ttl);

  [[nodiscard]] std::optional<Milliseconds> lease_time() const noexcept { return lease_; }
  [[nodiscard]] std::optional<WallTime> lease_ends() const;
  [[nodiscard]] std::optional<Milliseconds> idle_limit() const noexcept { return idle_limit_; }

  [[nodiscard]] bool in_use() const noexcept { return uses_ > 0; }
  /// Since when it is idle; now while it is in use.
  [[nodiscard]] WallTime last_used() const;
  /// 0 while it is in use.
  [[nodiscard]] Milliseconds idle_for() const noexcept;

 private:
  void finish(std::string_view why);

  [[nodiscard]] WallTime shown(SteadyTime time) const;

  std::function<void(std::string_view)> over_;
  WallClock wall_;
  std::size_t uses_ = 0;
  SteadyTime last_used_ = std::chrono::steady_clock::now();
  std::optional<Milliseconds> lease_;
  SteadyTime lease_ends_;
  std::optional<Milliseconds> idle_limit_;
  Deadline lease_end_;
  Deadline idle_end_;
};

}  // namespace skiff::runtime
