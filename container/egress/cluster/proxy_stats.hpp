#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "container/egress/audit.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

/// The metrics of the egress proxy of a namespace. No label names a sandbox, a Pod or a host. Reactor thread only.
class ProxyStats {
 public:
  ProxyStats();

  /// Numbers that other components keep.
  struct Measured {
    std::size_t connections = 0;
    std::size_t policies = 0;
    protocol::Traffic open = {};  ///< what connections have carried that have not ended
  };

  /// Counts a line of the audit log, and what its connection has carried.
  void count(const AuditEntry& entry);
  void count_canary_hit() noexcept { ++canary_hits_[0]; }
  /// Both take the time at which it began.
  void note_generation(SteadyTime begun) noexcept;
  void note_look_up(SteadyTime begun) noexcept;
  [[nodiscard]] Histogram& dials() noexcept { return dial_[0]; }

  /// The metrics in the text format of Prometheus.
  [[nodiscard]] std::string text(const Measured& measured) const;
  /// docs/egress-metrics.md. A test compares the committed file; SKIFF_UPDATE_DOCS=1 makes that test write it.
  [[nodiscard]] static std::string markdown();
  /// True if this code has a series of its own.
  [[nodiscard]] static bool knows(std::string_view code);

 private:
  static constexpr std::size_t kSeries = 40;
  /// Bytes to servers, and from them.
  using Bytes = std::array<std::uint64_t, 2>;
  /// The arguments must outlive the table.
  [[nodiscard]] MetricsTable table(const Measured& measured, const Bytes& bytes) const;

  std::array<std::uint64_t, kSeries> requests_{};
  Bytes bytes_{};  ///< of connections that have ended
  std::array<std::uint64_t, 1> canary_hits_{};
  std::array<Histogram, 1> generation_{};
  std::array<Histogram, 1> look_up_{};
  std::array<Histogram, 1> dial_{};
};

}  // namespace skiff::container::egress
