#include "container/kube/backoff.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/id.hpp"

namespace skiff::kube {
namespace {

using std::chrono::milliseconds;

/// A random time between the half and the whole of `time`.
milliseconds with_jitter(milliseconds time) {
  std::uint32_t random = 0;
  random_bytes(std::as_writable_bytes(std::span{&random, 1}));
  const auto half = static_cast<std::uint64_t>(time.count()) / 2;
  return milliseconds{static_cast<std::int64_t>(half + half * random / UINT32_MAX)};
}

/// True for an election of etcd or a lost member, which the API server reports as an internal error (500) without
/// Retry-After.
bool is_election(const Status& status) {
  constexpr std::array<std::string_view, 5> kSigns{"etcdserver: leader changed", "etcdserver: request timed out",
                                                   "etcdserver: no leader", "etcdserver: server stopped",
                                                   "rpc error: code = Unavailable"};
  return std::ranges::any_of(kSigns, [&](std::string_view sign) { return status.message.contains(sign); });
}

bool may_help(const Failure& failure, bool repeatable) {
  switch (failure.status.code) {
    case 0:
      if (failure.error.code != Errc::io_error && failure.error.code != Errc::timeout) return false;
      return repeatable || !failure.may_have_happened;
    case 429:
      // A 429 without Retry-After comes from a disruption budget that refuses.
      return failure.status.retry_after.has_value();
    case 500:
      return repeatable && (failure.status.retry_after.has_value() || is_election(failure.status));
    case 502:
    case 503:
    case 504:
      return repeatable;
    default:
      return false;
  }
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

std::optional<milliseconds> Backoff::next(const Failure& failure, bool repeatable, SteadyTime until) {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (failures_ == 0) began_ = now;
  if (!may_help(failure, repeatable) || ++failures_ >= limits_.attempts) return std::nullopt;
  const milliseconds wait = failure.status.retry_after.value_or(milliseconds{0}) + grow();
  if (now + wait > std::max(began_ + limits_.all, until)) return std::nullopt;
  return wait;
}

}  // namespace skiff::kube
