#include "container/serve/answer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/kube/objects/status.hpp"

namespace skiff::container::serve {
namespace {

TEST(ErrorAnswer, TellsATenantNothingOfTheServersAccountsAndAddresses) {
  const Error errors[] = {
      {Errc::permission_denied, "list pods: User \"system:serviceaccount:skiff:serve\" cannot list", "kubernetes"},
      {Errc::unauthenticated, "list pods: Unauthorized (401)", "kubernetes"},
      {Errc::io_error, "the API server https://10.96.0.1:443 can't be reached", "kubernetes"},
      {Errc::cluster_unavailable, "failed calling webhook: Post https://policy.kube-system.svc", "admission"}};
  for (const Error& error : errors) {
    for (const Face face : {Face::own, Face::e2b}) {
      const auto answer = error_answer(face, error, "r1");
      EXPECT_EQ(answer.status, 503U) << error.message;
      EXPECT_FALSE(answer.headers.get("Retry-After").empty());
      for (const char* secret : {"serviceaccount", "https://", "Unauthorized"}) {
        EXPECT_FALSE(answer.body.contains(secret)) << answer.body;
      }
    }
  }
  const auto webhook = nlohmann::json::parse(error_answer(Face::own, errors[3], "r1").body);
  EXPECT_EQ(webhook["code"], "cluster_unavailable");
  EXPECT_EQ(webhook["field"], "admission");
}

TEST(ErrorAnswer, OfAQuotaIsATenantsOwnAndSaysWhenToComeAgain) {
  const auto answer = error_answer(Face::own, {Errc::quota_exceeded, "exceeded quota: q", "quota"}, "r1");
  EXPECT_EQ(answer.status, 429U);
  EXPECT_FALSE(answer.headers.get("Retry-After").empty());
  EXPECT_TRUE(answer.body.contains("exceeded quota: q"));
}

TEST(ErrorAnswer, OfAPlaceThatOthersMustFreeSaysWhenToComeAgain) {
  const Error no_node{Errc::sandbox_failed, "no node takes it: Insufficient memory", "unschedulable"};
  EXPECT_FALSE(error_answer(Face::own, no_node, "r1").headers.get("Retry-After").empty());
  const Error long_line{Errc::resource_exhausted, "too many sandboxes of the pool are wanted"};
  EXPECT_FALSE(error_answer(Face::own, long_line, "r1").headers.get("Retry-After").empty());
  const Error broken{Errc::sandbox_failed, "its main process ended", "exited"};
  EXPECT_TRUE(error_answer(Face::own, broken, "r1").headers.get("Retry-After").empty());
}

TEST(ErrorAnswer, OfAKeyThatIsWrongIsStillTheTenants) {
  EXPECT_EQ(error_answer(Face::own, {Errc::unauthenticated, "show an API key"}, "r1").status, 401U);
  EXPECT_FALSE(is_cluster_fault({Errc::permission_denied, "not yours"}));
}

TEST(ErrorAnswer, OfARuleNamesTheFieldAndNotTheFlag) {
  const auto said = nlohmann::json::parse(
      error_answer(Face::own, {Errc::invalid_field, "--egress \"10.0.0.1\": a name", "--egress"}, "r1").body);
  EXPECT_EQ(said["detail"], "egress \"10.0.0.1\": a name");
  EXPECT_EQ(said["field"], "egress");
  const auto none = error_answer(Face::own, {Errc::sandbox_failed, "no proxy", "egress_not_installed"}, "r1");
  EXPECT_EQ(none.status, 501U);
  EXPECT_EQ(nlohmann::json::parse(none.body)["code"], "not_supported");
}

}  // namespace
}  // namespace skiff::container::serve
