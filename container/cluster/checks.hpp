#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "container/cluster/rbac.hpp"
#include "container/kube/client.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// What sandboxes in a cluster shall be like.
struct ClusterQuestions {
  ClusterDriver driver = ClusterDriver::pod;
  std::string namespace_name = {};  ///< empty: the client's
  bool inject = true;               ///< an init container brings the agent
  std::string agent_image = {};     ///< from here
  std::string name_prefix = "skiff-";
  /// The Pod of a sandbox as it would be created now: the cluster is asked to check it, and stores nothing.
  std::optional<kube::Object> trial = {};
};

/// Whether it answers, first, and then its clock.
[[nodiscard]] Task<std::vector<Check>> examine_api_server(kube::Client* client);

/// What is told when the API server does not say what somebody may do.
[[nodiscard]] Check unasked_permissions(const kube::Failure& failure);

/// Looks at what skiff needs of a cluster: that it answers, its clock, permissions, namespace, quotas, agent-sandbox,
/// the image of the agent, a way to agents. What can't be asked is told as not known and counts as passed: the
/// permissions say the rest. When the API server doesn't answer, that is all.
[[nodiscard]] Task<std::vector<Check>> examine_cluster(kube::Client* client, ClusterQuestions questions);

}  // namespace skiff::container
