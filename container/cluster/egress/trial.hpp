#pragma once

#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/sandbox/driver.hpp"

/// Finds out whether the fence of egress by name holds in a cluster.
namespace skiff::container {

/// The result of a trial Pod: the line that `skiff egress probe` prints.
struct EgressTrial {
  bool canary = false;
  bool proxy = false;
  std::string answered = {};  ///< other addresses that have answered, separated by blanks
};

/// The verdict on two Pods, one with the fence and one without. What the first does not reach proves nothing unless the
/// second reaches the canary.
[[nodiscard]] std::vector<Check> judge_trials(const EgressTrial& fenced, const EgressTrial& open);

/// Starts the two Pods in the namespace of sandboxes, judges what they say, and removes them.
[[nodiscard]] Task<std::vector<Check>> try_egress(Cluster* cluster);

}  // namespace skiff::container
