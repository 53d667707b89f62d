#include "runtime/activity.hpp"

namespace skiff::runtime {

Activity::Activity(Executor executor, std::function<void(std::string_view)> over, WallClock wall)
    : over_{std::move(over)},
      wall_{std::move(wall)},
      lease_end_{executor, [this] { finish("the lease is over"); }},
      idle_end_{executor, [this] { finish("nobody used the sandbox for the idle time"); }} {}

void Activity::begin() noexcept {
  if (uses_++ == 0) idle_end_.clear();
}

void Activity::end() {
  if (--uses_ > 0) return;
  last_used_ = std::chrono::steady_clock::now();
  if (idle_limit_) idle_end_.expires_after(*idle_limit_);
}

void Activity::lease(std::optional<Milliseconds> ttl) {
  lease_ = ttl;
  lease_end_.clear();
  if (!ttl) return;
  lease_ends_ = std::chrono::steady_clock::now() + *ttl;
  lease_end_.expires_after(*ttl);
}

void Activity::idle_limit(std::optional<Milliseconds> ttl) {
  idle_limit_ = ttl;
  idle_end_.clear();
  if (!ttl || in_use()) return;
  idle_end_.expires_after(*ttl);
}

std::optional<WallTime> Activity::lease_ends() const {
  return lease_ ? std::optional{shown(lease_ends_)} : std::nullopt;
}

WallTime Activity::last_used() const {
  return in_use() ? wall_() : shown(last_used_);
}

WallTime Activity::shown(SteadyTime time) const {
  return wall_() + std::chrono::floor<std::chrono::microseconds>(time - std::chrono::steady_clock::now());
}

Activity::Milliseconds Activity::idle_for() const noexcept {
  if (in_use()) return Milliseconds{0};
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - last_used_);
}

void Activity::finish(std::string_view why) {
  if (!over_) return;
  lease_end_.clear();
  idle_end_.clear();
  std::exchange(over_, nullptr)(why);
}

}  // namespace skiff::runtime
