#include "runtime/metrics.hpp"

#include "runtime/api/route.hpp"
#include "runtime/process/process_stats.hpp"
#include "runtime/version.hpp"

namespace skiff::runtime {
namespace {

using metric::CounterFrom;
using metric::Counters;
using metric::Gauge;
using metric::Histograms;

LabelSets by_cause() {
  LabelSets labels{{"cause"}};
  for (std::size_t i = 0; i < sessions::Counts::kCauses; ++i) labels.add({name(static_cast<sessions::Cause>(i))});
  return labels;
}

LabelSets one(std::string_view label, std::initializer_list<std::string_view> values) {
  LabelSets labels{{label}};
  for (const std::string_view value : values) labels.add({value});
  return labels;
}

}  // namespace

MetricsTable metrics_table(const Measured& m) {
  // clang-format off
  return MetricsTable{{
      m.requests.requests("skiff_requests_total", "Answered requests, by route, method and status class; unknown paths have the route -."),
      m.requests.seconds("skiff_request_duration_seconds", "Time from a request's head to the end of its answer; for a stream, to the end of the stream."),
      {"skiff_connections", "Open connections, including WebSockets.", Gauge{m.connections}},
      {"skiff_websockets", "Open WebSockets.", Gauge{m.websockets}},
      {"skiff_sessions", "Sessions, including the default one.", Gauge{m.sessions}},
      {"skiff_commands_live", "Commands that are starting or running, or whose pipes are still open.", Gauge{m.live_commands}},
      {"skiff_commands_started_total", "Commands that were started, including those that could not be spawned.",
       Counters{m.commands.started}},
      {"skiff_commands_ended_total", "Commands whose main process has ended, by cause.", Counters{m.commands.ended}, by_cause()},
      {"skiff_spawn_duration_seconds", "Time from the request for a process to its running program, including the wait for a thread.",
       Histograms{m.commands.spawn}},
      {"skiff_output_bytes_total", "Bytes that commands wrote, by stream.", Counters{m.output.bytes}, one("stream", {"stdout", "stderr"})},
      {"skiff_output_gaps_total", "Gaps in output logs.", Counters{m.output.gaps}},
      {"skiff_output_gap_bytes_total", "Bytes of output that were dropped.", Counters{m.output.gap_bytes}},
      {"skiff_output_kept_bytes", "Bytes of output that are kept in memory.", Gauge{m.output_memory}},
      {"skiff_output_spool_bytes", "Bytes of output that are kept in the data directory.", Gauge{m.output_spool}},
      {"skiff_audit_lost_total", "Lines that the audit log could not take; absent without --audit-log.", CounterFrom{m.audit_lost}},
      {"skiff_log_lost_total", "Lines of the agent's log that could not be written to stderr.", CounterFrom{m.log_lost}},
      {"skiff_draining", "1 once the agent drains.", Gauge{m.draining}},
      {"skiff_build_info", "Always 1; the labels name the version.", Gauge{[] { return 1.0; }}, one("version", {kVersion})},
      {"process_cpu_seconds_total", "CPU time of the agent itself.", CounterFrom{cpu_seconds}},
      {"process_resident_memory_bytes", "Resident memory of the agent itself.", Gauge{[] { return static_cast<double>(resident_bytes()); }}},
      {"process_open_fds", "Descriptors that the agent has open.", Gauge{[] { return static_cast<double>(open_files()); }}},
      {"process_max_fds", "Descriptors that the agent may have open.", Gauge{[] { return static_cast<double>(most_open_files()); }}},
      {"process_start_time_seconds", "When the agent was started, in seconds since 1970.", Gauge{start_time_seconds}},
  }};
  // clang-format on
}

std::string metrics_markdown() {
  const RequestCounts requests{api::routes()};
  const sessions::Counts commands;
  const sessions::OutputCounts output;
  return "# Metrics of skiffd\n\n"
         "`GET /metrics` (scope read) answers in the Prometheus text format, version 0.0.4. Counters start at 0 with "
         "each boot of the agent.\nThe series of a route appear when its first request has been answered.\n\n"
         "This page is generated from the table in `runtime/metrics.cpp`: run `runtime_tests` with "
         "`SKIFF_UPDATE_DOCS=1` "
         "after a change.\n\n" +
         metrics_table({.requests = requests, .commands = commands, .output = output}).markdown();
}

}  // namespace skiff::runtime
