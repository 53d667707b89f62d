#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.hpp"

namespace skiff::container::serve {

/// What this process has done. Reactor thread only.
class Stats {
 public:
  Stats();

  /// `row` of the route table, or one of the two below.
  void count(std::size_t row, unsigned status, std::chrono::microseconds took);
  /// See `is_cluster_fault`.
  void count_cluster_fault() noexcept { ++cluster_faults_; }
  void note_pools(std::uint64_t missing, std::uint64_t failures) noexcept {
    pool_missing_ = missing;
    pool_failures_ = failures;
  }
  [[nodiscard]] std::size_t gateway_row() const noexcept { return rows_; }
  [[nodiscard]] std::size_t no_route_row() const noexcept { return rows_ + 1; }

  /// In the text format of Prometheus.
  [[nodiscard]] std::string text(std::size_t connections) const;

 private:
  static constexpr std::array<std::string_view, 5> kClasses{"2xx", "3xx", "4xx", "5xx", "none"};

  std::size_t rows_;
  std::vector<std::uint64_t> requests_;  ///< of each row, `kClasses` each
  std::array<Histogram, 1> seconds_{};
  std::uint64_t cluster_faults_ = 0;
  std::uint64_t pool_missing_ = 0;
  std::uint64_t pool_failures_ = 0;
};

}  // namespace skiff::container::serve
