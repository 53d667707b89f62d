#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "container/cluster/rbac.hpp"
#include "container/kube/client.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// The subject of the checks: a namespace, and the sandboxes that it is to run.
struct ClusterQuestions {
  ClusterDriver driver = ClusterDriver::pod;
  std::string namespace_name = {};  ///< empty: the client's namespace
  bool inject = true;               ///< an init container copies the agent into the Pod
  std::string agent_image = {};     ///< image from which the agent is copied
  std::string name_prefix = "skiff-";
  /// The Pod of a new sandbox: the cluster checks it and stores nothing.
  std::optional<kube::Object> trial = {};
};

/// Checks first that the API server answers, and then its clock.
[[nodiscard]] Task<std::vector<Check>> examine_api_server(kube::Client* client);

/// The check that reports that the API server does not answer questions about permissions.
[[nodiscard]] Check unasked_permissions(const kube::Failure& failure);

/// Checks what skiff needs from a cluster: that it answers, its clock, permissions, namespace, quotas, agent-sandbox,
/// the image of the agent, a way to agents. A fact that cannot be read is reported as unknown and counts as passed,
/// because the check of the permissions covers it. If the API server does not answer, there are no further checks.
[[nodiscard]] Task<std::vector<Check>> examine_cluster(kube::Client* client, ClusterQuestions questions);

}  // namespace skiff::container
