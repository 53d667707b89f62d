#pragma once

#include <functional>
#include <string>

#include "base/metrics.hpp"
#include "protocol/service/metrics.hpp"
#include "sessions/counts.hpp"
#include "sessions/output/counts.hpp"

namespace skiff::runtime {

using protocol::service::RequestCounts;

/// The sources of the metrics' values.
struct Measured {
  const RequestCounts& requests;
  const sessions::Counts& commands;
  const sessions::OutputCounts& output;
  std::function<double()> live_commands = {};
  std::function<double()> sessions = {};
  std::function<double()> connections = {};
  std::function<double()> websockets = {};
  std::function<double()> output_memory = {};
  std::function<double()> output_spool = {};
  std::function<double()> audit_lost = {};  ///< NaN: there is no audit log
  std::function<double()> log_lost = {};
  std::function<double()> draining = {};
};

/// The table of all metrics.
[[nodiscard]] MetricsTable metrics_table(const Measured& measured);

/// docs/metrics.md. A test compares the committed file; SKIFF_UPDATE_DOCS=1 makes that test write it.
[[nodiscard]] std::string metrics_markdown();

}  // namespace skiff::runtime
