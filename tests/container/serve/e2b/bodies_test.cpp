#include "container/serve/e2b/bodies.hpp"

#include <gtest/gtest.h>

#include "container/serve/fleet/record_labels.hpp"

namespace skiff::container::serve::e2b {
namespace {

using nlohmann::json;

Sandbox running() {
  Sandbox sandbox;
  sandbox.name = "s1";
  sandbox.state = SandboxState::running;
  sandbox.created_at = "2026-01-01T00:00:00.000Z";
  sandbox.expires_at = "2026-01-01T01:00:00.000Z";
  sandbox.labels = {{std::string{kTemplateLabel}, "base"}, {"key.u", "1"}};
  return sandbox;
}

TEST(E2bBodies, TellOfASandbox) {
  const auto told = json::parse(sandbox_json(running(), {.cpus = 2, .memory_mb = 512, .disk_mb = 10}));
  EXPECT_EQ(told["sandboxID"], "s1");
  EXPECT_EQ(told["templateID"], "base");
  EXPECT_EQ(told["state"], "running");
  EXPECT_EQ(told["endAt"], "2026-01-01T01:00:00.000Z");
  EXPECT_EQ(told["metadata"], (json{{"u", "1"}}));
  EXPECT_EQ(told["cpuCount"], 2);
  EXPECT_FALSE(told.contains("envdAccessToken"));
}

TEST(E2bBodies, TellHowItIsReached) {
  const auto told =
      json::parse(reached_json(running(), {.domain = "d.example", .access_token = "t", .traffic_token = "u"}));
  EXPECT_EQ(told["domain"], "d.example");
  EXPECT_EQ(told["envdAccessToken"], "t");
  EXPECT_EQ(told["trafficAccessToken"], "u");
  const auto none = json::parse(reached_json(running(), {}));
  EXPECT_TRUE(none["envdAccessToken"].is_null() && none["trafficAccessToken"].is_null());
}

TEST(E2bBodies, CallOneThatSleepsPaused) {
  Sandbox sandbox = running();
  sandbox.state = SandboxState::stopped;
  sandbox.expires_at.reset();
  const auto told = json::parse(sandbox_json(sandbox, {}));
  EXPECT_EQ(told["state"], "paused");
  EXPECT_EQ(told["endAt"], sandbox.created_at);
}

TEST(E2bBodies, PassOverWhatLaterVersionsSend) {
  std::vector<std::string> ignored;
  const auto wanted = protocol::decode<NewSandbox>(
      R"({"templateID":"base","timeout":60,"secure":true,"autoPauseMemory":false,"metadata":{"a":"b"}})", {}, &ignored);
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->timeout, 60);
  EXPECT_EQ(wanted->metadata.at("a"), "b");
  EXPECT_FALSE(protocol::decode<NewSandbox>(R"({"timeout":-1})"));
}

TEST(E2bBodies, TellWhatTheAgentSaysOfItself) {
  const auto entry = metric_json(R"({"cpu_count":2,"cpu_used_pct":1.5,"mem_used":"lots"})");
  ASSERT_TRUE(entry);
  const auto told = json::parse(*entry);
  EXPECT_EQ(told["cpuCount"], 2);
  EXPECT_EQ(told["cpuUsedPct"], 1.5);
  EXPECT_EQ(told["memUsed"], 0);
  EXPECT_FALSE(metric_json("[]"));
  EXPECT_FALSE(metric_json("nothing"));
}

}  // namespace
}  // namespace skiff::container::serve::e2b
