#pragma once

#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "container/cluster/rbac.hpp"
#include "container/kube/client.hpp"

namespace skiff::container {

/// "create pods", with the name if the right is for one object only.
[[nodiscard]] std::string right_words(const std::string& verb, const ApiRule& rule);

/// Returns the rights that the client's identity lacks in a namespace, in the form of `right_words` and in the order of
/// the rules. It sends a SelfSubjectAccessReview for each, 16 at a time, and fails if one of them fails.
[[nodiscard]] Task<kube::Outcome<std::vector<std::string>>> missing_rights(kube::Client* client,
                                                                           std::vector<ApiRule> rules,
                                                                           std::string namespace_name);

}  // namespace skiff::container
