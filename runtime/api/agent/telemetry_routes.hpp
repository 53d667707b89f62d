#pragma once

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

/// Handlers for the metrics, statistics, ports and activity of the agent and its container.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> show_metrics(Call& call);
[[nodiscard]] Task<Result<>> show_stats(Call& call);
[[nodiscard]] Task<Result<>> list_ports(Call& call);
[[nodiscard]] Task<Result<>> show_activity(Call& call);

struct StatsNow;
struct PortNow;
// Answers of these handlers.
[[nodiscard]] const Answer<StatsNow>& stats_answer();
[[nodiscard]] const Answer<PortNow>& port_answer();
[[nodiscard]] const Answer<Agent>& activity_answer();

}  // namespace skiff::runtime::api
