#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/metrics.hpp"
#include "container/serve/fleet/fleet_counts.hpp"
#include "container/serve/keys/account_cache.hpp"
#include "container/serve/reactor_delay.hpp"
#include "protocol/service/metrics.hpp"

namespace skiff::container::serve {

/// The metrics of this process. Reactor thread only.
class Stats {
 public:
  Stats();

  /// Numbers that other components keep.
  struct Measured {
    const FleetCounts& fleet;
    const ReactorDelay& reactor;
    AccountCache::ReviewCounts reviews{};
    std::size_t connections = 0;
    double audit_lost = std::numeric_limits<double>::quiet_NaN();  ///< NaN: there is no audit log
  };

  /// Counts an answer. `row` is a row of the route table, or one of the two below.
  void count(std::size_t row, unsigned status, std::chrono::microseconds took);
  /// See `is_cluster_fault`.
  void count_cluster_fault() noexcept { ++cluster_faults_; }
  void note_pools(std::uint64_t missing, std::uint64_t failures) noexcept {
    pool_missing_ = missing;
    pool_failures_ = failures;
  }
  [[nodiscard]] std::size_t gateway_row() const noexcept { return gateway_row_; }
  [[nodiscard]] std::size_t no_route_row() const noexcept { return requests_.no_route(); }

  /// The metrics in the text format of Prometheus.
  [[nodiscard]] std::string text(const Measured& measured) const { return table(measured).text(); }
  /// docs/serve-metrics.md. A test compares the committed file; SKIFF_UPDATE_DOCS=1 makes that test write it.
  [[nodiscard]] static std::string markdown();

 private:
  /// The table of all metrics. The arguments must outlive it.
  [[nodiscard]] MetricsTable table(const Measured& measured) const;

  protocol::service::RequestCounts requests_;
  std::size_t gateway_row_;
  std::array<Histogram, 1> seconds_{};
  std::uint64_t cluster_faults_ = 0;
  std::uint64_t pool_missing_ = 0;
  std::uint64_t pool_failures_ = 0;
};

}  // namespace skiff::container::serve
