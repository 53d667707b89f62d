// The client meets a real API server that refuses work: priority and fairness, set up for one user.
#include <gtest/gtest.h>

#include <vector>

#include "base/async/task_group.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr Resource kPriorityLevels{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
                                   "PriorityLevelConfiguration", false};
constexpr Resource kFlowSchemas{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false};

/// The user "busy" gets next to no share, and no queue.
Task<> starve(Client* admin) {
  Object level = Object::make(kPriorityLevels, {}, "starved");
  level.json["spec"] = {{"type", "Limited"},
                        {"limited", {{"nominalConcurrencyShares", 0}, {"limitResponse", {{"type", "Reject"}}}}}};
  auto made = co_await admin->create(kPriorityLevels, std::move(level));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  const Json rule{{"subjects", {{{"kind", "User"}, {"user", {{"name", "busy"}}}}}},
                  {"resourceRules",
                   {{{"verbs", {"*"}},
                     {"apiGroups", {"*"}},
                     {"resources", {"*"}},
                     {"clusterScope", true},
                     {"namespaces", {"*"}}}}}};
  Object schema = Object::make(kFlowSchemas, {}, "starved");
  schema.json["spec"] = {
      {"priorityLevelConfiguration", {{"name", "starved"}}}, {"matchingPrecedence", 2}, {"rules", Json::array({rule})}};
  made = co_await admin->create(kFlowSchemas, std::move(schema));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
}

Task<> ask(Client* client, std::vector<Failure>* failures) {
  auto pods = co_await client->list(kPods, "default");
  if (!pods) failures->push_back(std::move(pods.error()));
}

/// Sixteen requests at once; "busy" may do nothing, so each of them fails in the end.
Task<std::vector<Failure>> ask_together(Executor executor, Client* client) {
  std::vector<Failure> failures;
  TaskGroup group{executor};
  for (int i = 0; i < 16; ++i) group.spawn("ask", ask(client, &failures));
  co_await group.join();
  co_return failures;
}

Task<> wait_as_asked(Executor executor) {
  Client admin = test::connect_as(executor, "admin");
  co_await starve(&admin);
  Access access = test::access_as("admin");
  access.identity.impersonate = "busy";
  {
    TransportOptions once;
    once.retry.attempts = 1;
    Client hasty = test::connect(executor, access, once);
    bool refused = false;
    while (!refused) {  // until the server has taken the configuration up
      for (const Failure& failure : co_await ask_together(executor, &hasty)) {
        if (failure.status.code != 429) continue;
        refused = true;
        EXPECT_EQ(failure.status.retry_after, 1s);
        EXPECT_EQ(failure.error.code, Errc::resource_exhausted);
      }
    }
  }
  Client patient = test::connect(executor, std::move(access));
  const std::vector<Failure> failures = co_await ask_together(executor, &patient);
  EXPECT_EQ(failures.size(), 16u);
  for (const Failure& failure : failures) EXPECT_TRUE(failure.forbidden()) << failure.error.message;
}

TEST(KubeOverload, IsWaitedForAsLongAsTheServerAsks) {
  skiff::test::run_on_reactor(wait_as_asked, 60s);
}

}  // namespace
}  // namespace skiff::kube
