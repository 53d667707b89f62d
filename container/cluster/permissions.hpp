#pragma once

#include <string>
#include <vector>

#include "base/task.hpp"
#include "container/cluster/rbac.hpp"
#include "container/kube/client.hpp"

namespace skiff::container {

/// "create pods", and the name where only one object is meant.
[[nodiscard]] std::string right_words(const std::string& verb, const ApiRule& rule);

/// Which of these rights whoever asks does not have in a namespace, as `right_words` has them, in the order of the
/// rules. The API server is asked for each (SelfSubjectAccessReview), 16 at a time. It fails when one can't be asked
/// for.
[[nodiscard]] Task<kube::Outcome<std::vector<std::string>>> missing_rights(kube::Client* client,
                                                                           std::vector<ApiRule> rules,
                                                                           std::string namespace_name);

}  // namespace skiff::container
