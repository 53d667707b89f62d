#include "container/kube/retry.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace skiff::kube {
namespace {

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

std::optional<std::chrono::milliseconds> wait_before_retry(net::Backoff& backoff, const Failure& failure,
                                                           bool repeatable, SteadyTime until) {
  if (!may_help(failure, repeatable)) return std::nullopt;
  return backoff.next(until, failure.status.retry_after.value_or(std::chrono::milliseconds{0}));
}

}  // namespace skiff::kube
