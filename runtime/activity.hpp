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

/// Tracks whether the sandbox is in use, and how long it may run: a lease, which clients renew, and a limit on its idle
/// time. The sandbox is idle while no request that counts as use is being answered, no WebSocket is open and no command
/// lives. The steady clock measures all times; they are only shown in the time of the wall clock, which may be changed.
/// Reactor thread only.
class Activity {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using WallClock = std::function<WallTime()>;

  /// `over` is called once, on the reactor, when the lease or the idle time is over; its argument says which.
  Activity(Executor executor, std::function<void(std::string_view why)> over, WallClock wall = wall_now);

  /// Begins a use, which ends with `end`. There may be any number of uses at a time.
  void begin() noexcept;
  void end();

  /// Keeps the sandbox in use while it lives.
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

  /// Sets the lease to `ttl` from now on; empty: no lease.
  void lease(std::optional<Milliseconds> ttl);
  /// Limits the idle time to `ttl`; empty: no limit.
  void idle_limit(std::optional<Milliseconds> ttl);

  [[nodiscard]] std::optional<Milliseconds> lease_time() const noexcept { return lease_; }
  [[nodiscard]] std::optional<WallTime> lease_ends() const;
  [[nodiscard]] std::optional<Milliseconds> idle_limit() const noexcept { return idle_limit_; }

  [[nodiscard]] bool in_use() const noexcept { return uses_ > 0; }
  /// The time since when the sandbox is idle; the current time while it is in use.
  [[nodiscard]] WallTime last_used() const;
  /// The idle time; 0 while the sandbox is in use.
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
