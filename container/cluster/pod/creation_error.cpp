#include "container/cluster/pod/creation_error.hpp"

#include <string>
#include <utility>

#include "container/sandbox/progress.hpp"

namespace skiff::container {

Error creation_error(kube::Failure failure) {
  const std::string& text = failure.status.message;
  if (const std::size_t at = text.find("exceeded quota"); failure.forbidden() && at != std::string::npos) {
    return bring_up_failure(FailureReason::quota, "the quota of the namespace is used up: " + text.substr(at));
  }
  if (failure.forbidden() && text.contains("failed quota")) {
    return bring_up_failure(FailureReason::quota, std::move(failure.error.message));
  }
  // The webhook itself failed, so the answer (a 500 or a refusal) is not a decision about the object.
  if (text.contains("failed calling webhook") || text.contains("failed to call webhook")) {
    return {Errc::cluster_unavailable, "an admission webhook of the cluster failed: " + failure.error.message,
            std::string{reason_word(FailureReason::admission)}};
  }
  const bool is_permission = text.contains("cannot ");  // RBAC: User "a" cannot create resource "pods"
  if ((failure.forbidden() && !is_permission) || text.contains("admission webhook")) {
    return bring_up_failure(FailureReason::admission, std::move(failure.error.message));
  }
  return std::move(failure.error);
}

}  // namespace skiff::container
