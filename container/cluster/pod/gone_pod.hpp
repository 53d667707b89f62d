#pragma once

#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/kube/client.hpp"

namespace skiff::container {

/// A Pod that was deleted, as far as its data was noted.
struct GonePod {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string node = {};        ///< empty: not known
  std::string started_at = {};  ///< RFC 3339: when it began to run on that node
};

/// How it ended, by the events that outlive it, or because its node is gone. nullopt if neither shows it, or if neither
/// may be read.
[[nodiscard]] Task<std::optional<PodEnd>> end_of_gone(kube::Client* client, GonePod pod);

}  // namespace skiff::container
