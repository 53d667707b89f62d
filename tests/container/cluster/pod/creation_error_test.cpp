#include "container/cluster/pod/creation_error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/sandbox/progress.hpp"

namespace skiff::container {
namespace {

Error of(unsigned code, std::string_view reason, std::string message) {
  protocol::HttpResponseHead head;
  head.status = code;
  const nlohmann::json status{{"kind", "Status"}, {"reason", reason}, {"message", message}, {"code", code}};
  const std::string body = status.dump();
  return creation_error(kube::read_failure(head, body, "create pod ns/skiff-box"));
}

TEST(CreationError, OfAQuotaSaysWhichAndNothingElse) {
  const Error error =
      of(403, "Forbidden",
         "pods \"skiff-box\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: "
         "pods=2");
  EXPECT_EQ(error.code, Errc::quota_exceeded);
  EXPECT_EQ(failure_reason(error), FailureReason::quota);
  EXPECT_EQ(
      error.message,
      "the quota of the namespace is used up: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2");
}

TEST(CreationError, OfAWebhookThatFailsIsNoRefusal) {
  for (const char* message : {"Internal error occurred: failed calling webhook \"w\": failed to call webhook: Post "
                              "https://a.b.svc: refused",
                              "Internal error occurred: failed calling webhook \"w\": context deadline exceeded"}) {
    const Error error = of(500, "InternalError", message);
    EXPECT_EQ(error.code, Errc::cluster_unavailable) << message;
    EXPECT_EQ(failure_reason(error), FailureReason::admission) << message;
  }
  const Error denied = of(400, "BadRequest", "admission webhook \"w\" denied the request: no");
  EXPECT_EQ(denied.code, Errc::sandbox_failed);
  EXPECT_EQ(failure_reason(denied), FailureReason::admission);
}

TEST(CreationError, OfARightThatIsMissingIsTheClusters) {
  const Error error = of(403, "Forbidden", "pods is forbidden: User \"sa\" cannot create resource \"pods\"");
  EXPECT_EQ(error.code, Errc::permission_denied);
  EXPECT_EQ(error.field, kube::kClusterFault);
}

}  // namespace
}  // namespace skiff::container
