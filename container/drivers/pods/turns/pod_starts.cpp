#include "container/drivers/pods/turns/pod_starts.hpp"

#include <algorithm>
#include <utility>

#include "container/cluster/watched_objects.hpp"

namespace skiff::container {

bool PodStarts::has_room(std::size_t each_node) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const kube::Mirror::Names& starting = pods_->group(std::string{kStarting});
  std::erase_if(seen_, [&](const auto& one) { return !starting.contains(one.first); });
  const auto counts = [now](SteadyTime since) { return now - since < kLongest; };
  auto count = std::ranges::count_if(begun_, [&](const auto& one) { return counts(one.second); });
  for (const std::string& name : starting) {
    if (begun_.contains(name)) continue;
    count += counts(seen_.try_emplace(name, now).first->second) ? 1 : 0;
  }
  const std::size_t nodes = pods_->groups(kOnNode, kOnNode, kMostNodes).size();
  return std::cmp_less(count, each_node * std::max<std::size_t>(nodes, 1));
}

}  // namespace skiff::container
