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

/// Time before work is stopped for a client that has shut its sending half: it looks like a client that has
/// disconnected, but may be waiting for the answer.
inline constexpr std::chrono::milliseconds kShutPatience{5000};

/// Whether the call is long work, by its route's `long_with` or because its If-Match needs the hash of a file.
[[nodiscard]] bool is_long(const Call& call);

/// Requests `stop` 5 s after the client has shut its sending half or disconnected.
[[nodiscard]] Task<> stop_without_client(protocol::HttpExchange* http, std::stop_source* stop);

/// The part of `on_long` that does not depend on the type of the work, so that the binary has it once.
using StoppableJob = std::move_only_function<void(const std::stop_token& stop)>;
[[nodiscard]] Task<> run_long(Call* call, StoppableJob* job);

/// Runs `work(stop)` on a thread for long work and returns its result. `stop` is requested 5 s after the client has
/// disconnected. Errors: also cancelled, if `stop` was requested before the work got a thread.
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

/// Runs `work()` or `work(stop)` on a disk thread and returns its result. `work(stop)` runs on a thread for long work,
/// as in `on_long`, if the call is long.
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

/// Most bytes that short work hashes for a tag.
inline constexpr std::uint64_t kQuicklyHashed = 1U << 20U;
/// Whether a file has no entity tag (`tag`) only because that needs the hash of more bytes than short work may hash.
[[nodiscard]] bool wants_long_hash(const fs::Entry& entry, const std::optional<std::string>& tag);

}  // namespace skiff::runtime::api
