#include "container/serve/fleet/templates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace skiff::container::serve {
namespace {

SandboxSpec base_spec() {
  return {.name = {}, .image = "base:1", .env = {{"A", "1"}, {"B", "1"}}};
}

TEST(Templates, ReplaceWhatTheBaseHas) {
  const auto all = Templates::create(
      base_spec(), {{"python", {{"image", "python:3"}, {"env", {{"B", "2"}}}, {"pod", {{"cpu", "1:2"}}}}}});
  ASSERT_TRUE(all) << all.error().message;
  const SandboxSpec* python = all->find("python");
  ASSERT_NE(python, nullptr);
  EXPECT_EQ(python->image, "python:3");
  EXPECT_EQ(python->env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(python->pod.cpu, "1:2");
  EXPECT_EQ(python->pod.memory, PodOptions{}.memory);
  ASSERT_NE(all->find("base"), nullptr);
  EXPECT_EQ(all->find("base")->image, "base:1");
  EXPECT_EQ(all->find("other"), nullptr);
  EXPECT_EQ(all->names(), "base, python");
}

TEST(Templates, HaveFurtherNames) {
  const auto all =
      Templates::create(base_spec(), {{"python", {{"image", "python:3"}, {"aliases", {"code-interpreter-v1", "py"}}}}});
  ASSERT_TRUE(all) << all.error().message;
  for (const char* name : {"python", "code-interpreter-v1", "py"}) {
    ASSERT_NE(all->find(name), nullptr) << name;
    EXPECT_EQ(all->find(name)->image, "python:3") << name;
  }
}

TEST(Templates, ANameBelongsToOneTemplate) {
  const nlohmann::json one{{"image", "a"}, {"aliases", {"shared"}}};
  for (const nlohmann::json& wrong :
       std::vector<nlohmann::json>{{{"a", one}, {"b", one}},
                                   {{"a", one}, {"shared", {{"image", "b"}}}},
                                   {{"a", {{"image", "a"}, {"aliases", {"a"}}}}},
                                   {{"a", {{"image", "a"}, {"aliases", {"Not A Name"}}}}}}) {
    const auto all = Templates::create(base_spec(), wrong);
    ASSERT_FALSE(all) << wrong.dump();
    EXPECT_EQ(all.error().code, Errc::invalid_field);
  }
  const auto base = Templates::create(base_spec(), {{"a", {{"image", "a"}, {"aliases", {"base"}}}}});
  ASSERT_TRUE(base) << "the flags define base only if the file does not";
  EXPECT_EQ(base->find("base")->image, "a");
}

TEST(Templates, HaveAServiceOnlyIfTheySaySo) {
  SandboxSpec base = base_spec();
  base.pod.service = ServiceKind::none;
  const auto all =
      Templates::create(base, {{"quiet", {{"image", "a"}}},
                               {"ports", {{"image", "a"}, {"pod", {{"ports", {"8080"}}}}}},
                               {"said", {{"image", "a"}, {"pod", {{"service", "headless"}, {"ports", {"8080"}}}}}}});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->find("quiet")->pod.service, ServiceKind::none);
  EXPECT_EQ(all->find("ports")->pod.service, ServiceKind::clusterip);
  EXPECT_EQ(all->find("said")->pod.service, ServiceKind::headless);
}

TEST(Templates, LeaveToThePoolWhatTheyDoNotSay) {
  SandboxSpec base = base_spec();
  base.pod.agent_image = "agent:1";
  base.pod.network = "deny";
  for (const char* names : {"pool", "template"}) {
    const auto all = Templates::create(base, {{"warm", {{"pod", {{names, "p"}, {"cpu", "2"}}}}}});
    ASSERT_TRUE(all) << all.error().message;
    const SandboxSpec* warm = all->find("warm");
    EXPECT_EQ(warm->image, "");
    EXPECT_EQ(warm->pod.agent_image, "");
    EXPECT_EQ(warm->pod.cpu, "2") << "what it says is looked at when the pool is known";
    EXPECT_EQ(warm->pod.network, "deny") << "only what a pool decides is left to it";
  }
}

TEST(Templates, SayWhichOneIsNotAsItMustBe) {
  for (const nlohmann::json& wrong : std::vector<nlohmann::json>{{{"Bad Name", nlohmann::json::object()}},
                                                                 {{"x", {{"imagge", "y"}}}},
                                                                 {{"x", {{"pod", {{"cpu", "lots"}}}}}},
                                                                 {{"x", "y"}},
                                                                 "text"}) {
    const auto all = Templates::create(base_spec(), wrong);
    ASSERT_FALSE(all) << wrong.dump();
    EXPECT_EQ(all.error().code, Errc::invalid_field);
  }
}

TEST(Templates, HaveTheSizeOfTheirLimits) {
  SandboxSpec spec;
  spec.pod.cpu = "100m:2";
  spec.pod.memory = "1Gi";
  spec.pod.disk = "";
  const Size size = size_of(spec, false);
  EXPECT_EQ(size.cpus, 2U);
  EXPECT_EQ(size.memory_mb, 1024U);
  EXPECT_EQ(size.disk_mb, 0U);
  EXPECT_GT(size_of(spec, true).memory_mb, 0U);
}

}  // namespace
}  // namespace skiff::container::serve
