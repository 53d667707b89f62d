#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "fs/content/entry.hpp"
#include "fs/path/stop.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// A client that has shut its sending half and waits for an answer looks like one that has left. So long it is given
/// the benefit of the doubt; then what goes on for it is stopped.
inline constexpr std::chrono::milliseconds kShutPatience{5000};

/// Whether the call is long work: by its route's `long_with`, or because an If-Match is judged by hashing a file.
[[nodiscard]] bool is_long(const Call& call);

/// Requests `stop` some time after the client has shut its sending half, or left.
[[nodiscard]] Task<> stop_without_client(protocol::HttpExchange* http, std::stop_source* stop);

/// What `on_long` does whatever the work: in the binary once, and not for each of them.
using StoppableJob = std::move_only_function<void(const std::stop_token& stop)>;
[[nodiscard]] Task<> run_long(Call* call, StoppableJob* job);

/// Runs `work(stop)` on a thread for long work and answers what it returns; `stop` is requested when nobody waits for
/// that any more. Errors: also cancelled, when that was so before its turn came.
template <class Work>
Task<std::invoke_result_t<Work&, const std::stop_token&>> on_long(Call& call, Work work) {
  std::optional<std::invoke_result_t<Work&, const std::stop_token&>> result;
  StoppableJob job = [&result, &work](const std::stop_token& stop) {
    if (stop.stop_requested()) {
      result.emplace(fs::stopped_error());
    } else {
      result.emplace(work(stop));
    }
  };
  co_await run_long(&call, &job);
  co_return std::move(*result);
}

/// Runs `work()`, or `work(stop)`, on a disk thread and answers what it returns; on one for long work, as `on_long`, if
/// it is called with `stop` and the call is long.
template <class Work>
  requires std::invocable<Work&>
Task<std::invoke_result_t<Work&>> on_disk(Call& call, Work work) {
  auto result = co_await call.agent.pools.disk.run(std::move(work));
  co_return result;
}
template <class Work>
  requires std::invocable<Work&, const std::stop_token&>
Task<std::invoke_result_t<Work&, const std::stop_token&>> on_disk(Call& call, Work work) {
  if (is_long(call)) co_return co_await on_long(call, std::move(work));
  auto never_stopped = [&work] { return work(std::stop_token{}); };
  auto result = co_await call.agent.pools.disk.run(std::move(never_stopped));
  co_return result;
}

/// So many bytes are hashed for tags by what is to be over in a moment.
inline constexpr std::uint64_t kQuicklyHashed = 1U << 20U;
/// Whether an entry has no tag because it would have had to hash more than that.
[[nodiscard]] bool wants_long_hash(const fs::Entry& entry, const std::optional<std::string>& tag);

}  // namespace skiff::runtime::api
