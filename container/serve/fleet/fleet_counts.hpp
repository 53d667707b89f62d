#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/metrics.hpp"
#include "container/sandbox/pools.hpp"
#include "container/serve/labelled_numbers.hpp"

namespace skiff::container::serve {

/// What this process has done for the tenants, and what its last look at their sandboxes and pools has found. Reactor
/// thread only.
struct FleetCounts {
  FleetCounts();

  /// Begins the series of a tenant at 0, so that the first event is an increase.
  void know(const std::string& tenant);

  LabelledNumbers creations;  ///< by tenant and result
  LabelledNumbers wakes;      ///< by tenant and result
  LabelledNumbers sandboxes;  ///< by tenant and state
  LabelledNumbers pools;      ///< by tenant, pool and state of the members
  std::array<Histogram, 1> bring_up{};

  [[nodiscard]] static LabelledNumbers no_sandboxes();
  [[nodiscard]] static LabelledNumbers no_pools();
};

/// Writes the members of a pool into a row of `FleetCounts::pools`.
void note_pool(LabelledNumbers* pools, const std::string& tenant, const PoolStatus& pool);

/// Counts how one creation or wake-up ends: as `cancelled` unless it is told the end before it is destroyed.
class CountedEnd {
 public:
  /// The first words of `FleetCounts::creations` and `wakes`; the words of success follow.
  static constexpr std::array<std::string_view, 3> kFailures{"refused", "failed", "cancelled"};
  static constexpr std::size_t kDone = kFailures.size();  ///< created, or woken
  static constexpr std::size_t kExisting = kDone + 1;     ///< a creation that was given an existing sandbox

  CountedEnd(LabelledNumbers* numbers, std::string tenant) : numbers_{numbers}, tenant_{std::move(tenant)} {}
  ~CountedEnd() { ++numbers_->of({tenant_})[word_]; }
  CountedEnd(const CountedEnd&) = delete;
  CountedEnd& operator=(const CountedEnd&) = delete;

  void done() noexcept { word_ = kDone; }
  void existing() noexcept { word_ = kExisting; }
  /// `refused` if the request or a limit is to blame, `failed` if the server or the cluster is.
  void failed(const Error& error) noexcept;

 private:
  LabelledNumbers* numbers_;
  std::string tenant_;
  std::size_t word_ = 2;
};

}  // namespace skiff::container::serve
