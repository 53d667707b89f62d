#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/metrics.hpp"
#include "sessions/counts.hpp"

namespace skiff::runtime {

/// How requests were answered, by the row of the route table that they matched. Reactor thread only.
class RequestCounts {
 public:
  static constexpr std::size_t kClasses = 5;  ///< 1xx to 5xx

  /// Of the routes 0 to `routes` - 1; what matches none is counted as `routes`.
  explicit RequestCounts(std::size_t routes) : by_class_(kClasses * (routes + 1)), seconds_(routes + 1) {}

  void answered(std::size_t route, unsigned status, double seconds) noexcept {
    refused(route, status);
    seconds_[route].observe(seconds);
  }
  /// Without a time: the request was refused before it was read.
  void refused(std::size_t route, unsigned status) noexcept {
    if (status >= 100 && status < 600) ++by_class_[route * kClasses + status / 100 - 1];
  }
  [[nodiscard]] std::size_t no_route() const noexcept { return seconds_.size() - 1; }

  [[nodiscard]] const std::vector<std::uint64_t>& by_class() const noexcept { return by_class_; }
  [[nodiscard]] const std::vector<Histogram>& seconds() const noexcept { return seconds_; }

 private:
  std::vector<std::uint64_t> by_class_;
  std::vector<Histogram> seconds_;
};

/// Where the metrics' values are.
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

/// THE metrics table.
[[nodiscard]] MetricsTable metrics_table(const Measured& measured);

/// docs/metrics.md. A test compares the committed file; SKIFF_UPDATE_DOCS=1 makes that test write it.
[[nodiscard]] std::string metrics_markdown();

}  // namespace skiff::runtime
