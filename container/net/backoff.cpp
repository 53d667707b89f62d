#include "container/net/backoff.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/id.hpp"

namespace skiff::net {
namespace {

using std::chrono::milliseconds;

/// A random time between the half and the whole of `time`.
milliseconds with_jitter(milliseconds time) {
  std::uint32_t random = 0;
  random_bytes(std::as_writable_bytes(std::span{&random, 1}));
  const auto half = static_cast<std::uint64_t>(time.count()) / 2;
  return milliseconds{static_cast<std::int64_t>(half + half * random / UINT32_MAX)};
}

}  // namespace

milliseconds Backoff::grow() {
  step_ = step_.count() == 0 ? limits_.first : std::min(step_ * 2, limits_.most);
  return with_jitter(step_);
}

void Backoff::reset() noexcept {
  step_ = milliseconds{0};
  failures_ = 0;
}

std::optional<milliseconds> Backoff::next(SteadyTime until, milliseconds asked) {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (failures_ == 0) began_ = now;
  if (++failures_ >= limits_.attempts) return std::nullopt;
  const milliseconds wait = asked + grow();
  if (now + wait > std::max(began_ + limits_.all, until)) return std::nullopt;
  return wait;
}

}  // namespace skiff::net
