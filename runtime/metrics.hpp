#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.hpp"
#include "sessions/counts.hpp"
#include "sessions/output/counts.hpp"

namespace skiff::runtime {

/// How requests were answered, by the row of the route table that they matched. Reactor thread only.
class RequestCounts {
 public:
  static constexpr std::size_t kClasses = 5;  ///< 1xx to 5xx

  /// Of the routes 0 to `routes` - 1; what matches none is counted as `routes`. Behind that each of `dialects` has a
  /// row.
  explicit RequestCounts(std::size_t routes, std::vector<std::string_view> dialects = {})
      : routes_{routes},
        dialects_{std::move(dialects)},
        by_class_(kClasses * (routes + 1 + dialects_.size())),
        seconds_(routes + 1 + dialects_.size()) {}

  void answered(std::size_t route, unsigned status, double seconds) noexcept {
    refused(route, status);
    seconds_[route].observe(seconds);
  }
  /// Without a time: the request was refused before it was read.
  void refused(std::size_t route, unsigned status) noexcept {
    if (status >= 100 && status < 600) ++by_class_[route * kClasses + status / 100 - 1];
  }
  [[nodiscard]] std::size_t no_route() const noexcept { return routes_; }
  /// The row of one of the dialects, or `no_route`.
  [[nodiscard]] std::size_t of_dialect(std::string_view name) const noexcept;
  [[nodiscard]] const std::vector<std::string_view>& dialects() const noexcept { return dialects_; }

  [[nodiscard]] const std::vector<std::uint64_t>& by_class() const noexcept { return by_class_; }
  [[nodiscard]] const std::vector<Histogram>& seconds() const noexcept { return seconds_; }

 private:
  std::size_t routes_;
  std::vector<std::string_view> dialects_;
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
