#include "container/cluster/pod/circumstances.hpp"

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using nlohmann::json;

json event_of(const char* reason, const char* time) {
  return {{"metadata", {{"name", reason}}}, {"type", "Normal"}, {"reason", reason}, {"message", "m"},
          {"lastTimestamp", time},          {"count", 3}};
}

CO_TEST(Circumstances, AreThoseOfThePodWithItsEventsInOrder, FakeCluster& fake) {
  kube::Object pod = fakes::sandbox_pod("box", "s1");
  pod.json["spec"]["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "skiff-box-0"}}}}};
  pod.json["spec"]["containers"] = {
      {{"name", "sandbox"}, {"volumeMounts", json::array({json{{"name", "data"}, {"mountPath", "/data"}}})}}};
  fake.server.put(kube::kPods, pod);
  std::string selector;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/events")) return std::nullopt;
    selector = request.parameter("fieldSelector");
    const json list{
        {"metadata", json::object()},
        {"items", {event_of("Started", "2026-01-01T00:00:02Z"), event_of("Pulled", "2026-01-01T00:00:01Z")}}};
    return FakeAnswer{.body = list.dump()};
  };
  const json told = co_await circumstances_of(&fake.cluster->client(), "default", "skiff-box");
  EXPECT_TRUE(selector.starts_with("involvedObject.uid=")) << selector;
  CO_ASSERT_TRUE(told.at("events").size() == 2U) << told.dump();
  EXPECT_EQ(told["events"][0]["reason"], "Pulled");
  EXPECT_EQ(told["events"][1]["count"], 3);
  EXPECT_EQ(told["volumes"][0]["kind"], "persistentVolumeClaim skiff-box-0");
  EXPECT_EQ(told["volumes"][0]["mounted_at"], "/data");
  EXPECT_FALSE(told["conditions"].empty());
  EXPECT_EQ(told["conditions"][0]["status"], "True");
}

CO_TEST(Circumstances, SayWhatMayNotBeAskedAndAreNothingWithoutAPod, FakeCluster& fake) {
  fake.server.put(kube::kPods, fakes::sandbox_pod("box", "s1"));
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/events")) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "you may not");
  };
  const json told = co_await circumstances_of(&fake.cluster->client(), "default", "skiff-box");
  EXPECT_TRUE(told.at("events").empty());
  EXPECT_NE(told.at("events_error").get<std::string>().find("you may not"), std::string::npos);
  const json none = co_await circumstances_of(&fake.cluster->client(), "default", "skiff-none");
  EXPECT_TRUE(none.empty()) << none.dump();
}

CO_TEST(AgentLog, IsThatOfTheContainerWithTheAgent, FakeCluster& fake) {
  kube::Object pod = fakes::sandbox_pod("box", "s1");
  pod.json["spec"]["containers"] = {{{"name", "proxy"}}, {{"name", "sandbox"}}};
  fake.server.put(kube::kPods, pod);
  std::map<std::string, std::string> asked;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/log")) return std::nullopt;
    asked = request.query;
    return FakeAnswer{.body = "a line\n"};
  };
  AgentLogOptions options{.tail = 7, .since_seconds = 60, .timestamps = true};
  auto log = co_await agent_log(&fake.cluster->client(), "default", "skiff-box", options);
  CO_ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(*log, "a line\n");
  const std::map<std::string, std::string> expected{
      {"container", "sandbox"}, {"tailLines", "7"}, {"sinceSeconds", "60"}, {"timestamps", "true"}};
  EXPECT_EQ(asked, expected);
  options = {};
  auto none = co_await agent_log(&fake.cluster->client(), "default", "skiff-none", options);
  EXPECT_FALSE(none.has_value());
}

}  // namespace
}  // namespace skiff::container
