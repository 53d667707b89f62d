#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "container/kube/mirror.hpp"

namespace skiff::container {

/// Counts the Pods that start, those of other processes among them, because a node that starts too many at once has
/// each of them ready late. Pods that no node takes, or that cannot start, count no longer; and whatever has not
/// started after `kLongest` does not keep the others waiting. Reactor thread only.
class PodStarts {
 public:
  /// A node starts so many well.
  static constexpr std::size_t kEachNode = 16;
  /// So few leave it time for sandboxes that are being taken meanwhile.
  static constexpr std::size_t kEachBusyNode = 2;
  /// Most nodes that count.
  static constexpr std::size_t kMostNodes = 64;
  static constexpr std::chrono::seconds kLongest{30};

  /// `pods` must outlive it; its groups are kStarting and those of the nodes.
  explicit PodStarts(const kube::Mirror* pods) : pods_{pods} {}

  /// A Pod that this process is about to create counts while one lives. PodStarts must outlive it.
  class Permit {
   public:
    Permit(PodStarts* from, std::string name)
        : from_{from}, place_{from->begun_.emplace(std::move(name), std::chrono::steady_clock::now())} {}
    ~Permit() { from_->begun_.erase(place_); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

   private:
    PodStarts* from_;
    std::multimap<std::string, SteadyTime>::iterator place_;
  };

  /// True if fewer than `each_node` start for each node.
  [[nodiscard]] bool has_room(std::size_t each_node = kEachNode);

 private:
  const kube::Mirror* pods_;
  std::multimap<std::string, SteadyTime> begun_;  ///< by this process
  std::map<std::string, SteadyTime> seen_;        ///< those of the watch, since they were first counted
};

}  // namespace skiff::container
