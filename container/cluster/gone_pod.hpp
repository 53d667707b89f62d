#pragma once

#include <optional>
#include <string>

#include "base/task.hpp"
#include "container/cluster/pod_end.hpp"
#include "container/kube/client.hpp"

namespace skiff::container {

/// A Pod that was deleted, as far as somebody has noted what it was.
struct GonePod {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string node = {};        ///< empty: not known
  std::string started_at = {};  ///< RFC 3339: when it was on that node
};

/// How it ended, by the events that outlive it, or because its node is gone. Nothing when neither tells, nor for those
/// who may read neither.
[[nodiscard]] Task<std::optional<PodEnd>> end_of_gone(kube::Client* client, GonePod pod);

}  // namespace skiff::container
