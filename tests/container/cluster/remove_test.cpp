#include "container/cluster/remove.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::sandbox_pod;

Task<Result<>> remove_box_pod(FakeCluster* fake, std::string id) {
  return remove_object(fake->cluster.get(), kube::kPods, "default", "skiff-box", std::move(id), {});
}

CO_TEST(ObjectRemoval, DeletesTheVeryObjectThatItLookedAt, FakeCluster& fake) {
  const kube::Object pod = fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fake.server.find(kube::kPods, "default", "skiff-box"));
  EXPECT_EQ(fake.server.last("DELETE", "/pods/skiff-box").body["preconditions"], (nlohmann::json{{"uid", pod.uid()}}));
}

CO_TEST(ObjectRemoval, LeavesASuccessorThatComesBetweenLookAndDelete, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("DELETE", "/pods/skiff-box")) fake.server.put(kube::kPods, sandbox_pod("box", "s2"));
    return std::nullopt;
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  const auto successor = fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(successor.has_value()) << "the successor was deleted";
  EXPECT_EQ(successor->label(labels::kSandbox), "s2");
  EXPECT_FALSE(successor->is_being_deleted());
}

CO_TEST(ObjectRemoval, AsksNoMoreOnceTheAnswerSaysThatItIsGone, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.requests().size(), 2u) << "a GET and a DELETE";
}

CO_TEST(ObjectRemoval, SeesInTheWatchThatAnotherTookThePlace, FakeCluster& fake) {
  fake.server.pods_linger = true;
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch()) fake.server.put(kube::kPods, sandbox_pod("box", "s2"));
    return std::nullopt;
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  const auto is_watch = [](const FakeRequest& one) { return one.is_watch(); };
  EXPECT_EQ(std::ranges::count_if(fake.server.requests(), is_watch), 1);
}

CO_TEST(ObjectRemoval, WaitsUntilTheObjectIsGone, FakeCluster& fake) {
  fake.server.pods_linger = true;
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch()) {
      EXPECT_TRUE(fake.server.find(kube::kPods, "default", "skiff-box")->is_being_deleted());
      fake.server.erase(kube::kPods, "default", "skiff-box");
    }
    return std::nullopt;
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fake.server.find(kube::kPods, "default", "skiff-box"));
}

CO_TEST(ObjectRemoval, SaysThatTheObjectIsStillThereAfterItsTime, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  GoneWait wait{.resource = kube::kPods, .namespace_name = "default", .name = "skiff-box", .limit = {}};
  auto gone = co_await wait_until_gone(&fake.cluster->client(), std::move(wait));
  CO_ASSERT_TRUE(!gone);
  EXPECT_EQ(gone.error().code, Errc::timeout);
  EXPECT_EQ(gone.error().message,
            "pods default/skiff-box was deleted, but is still there after 0 s; if its node is lost, use `skiff rm "
            "--force` or "
            "`skiff stop --force`");
}

CO_TEST(ObjectRemoval, LeavesWhatHasTheNameAndNotTheId, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s2"));
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.count("DELETE", "/pods/skiff-box"), 0u);
}

CO_TEST(ObjectRemoval, IsDoneWhenSomebodyElseWasFaster, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method == "DELETE") fake.server.erase(kube::kPods, "default", "skiff-box");
    return std::nullopt;
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << "there is none: " << removed.error().message;
}

CO_TEST(ObjectRemoval, SendsADeleteAgainWhoseAnswerWasLost, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "DELETE" || fake.server.count("DELETE", "/pods/skiff-box") > 1) return std::nullopt;
    return fakes::FakeApiServer::lost();
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.count("DELETE", "/pods/skiff-box"), 2u);
}

CO_TEST(ObjectRemoval, SaysWhyItMayNotDelete, FakeCluster& fake) {
  fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "DELETE") return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "pods is forbidden: User \"ann\" cannot delete it");
  };
  auto removed = co_await remove_box_pod(&fake, "s1");
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().code, Errc::permission_denied);
  EXPECT_TRUE(removed.error().message.starts_with("delete pods default/skiff-box: pods is forbidden"))
      << removed.error().message;
}

}  // namespace
}  // namespace skiff::container
