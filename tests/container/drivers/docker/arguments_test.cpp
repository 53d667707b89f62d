#include "container/drivers/docker/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container::docker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

HostRecord record_of(const SandboxSpec& spec) {
  HostRecord record;
  record.name = "box";
  record.id = "s-1";
  record.owner = "ann@laptop";
  record.labels = spec.labels;
  record.env = spec.env;
  record.dialects = spec.pod.dialects;
  auto container = container_of(spec);
  EXPECT_TRUE(container.has_value()) << container.error().message;
  if (container) record.container = std::move(*container);
  return record;
}

TEST(CreateArguments, AreThoseOfAnIsolatedContainer) {
  HostRecord record = record_of({.name = "box", .image = "example.org/image:1"});
  ASSERT_TRUE(adapt_to(*record.container, {.memory = true, .cpu = true, .pids = true}).has_value());
  EXPECT_THAT(
      create_arguments(false, record, "state"),
      ElementsAre("create", "--name", "skiff-box.s-1", "--hostname", "box", "--label", "dev.skiff.name=box", "--label",
                  "dev.skiff.id=s-1", "--label", "dev.skiff.owner=ann@laptop", "--label", "dev.skiff.state=state",
                  "--entrypoint", "/.skiff/skiffd", "--workdir", "/workspace", "--stop-signal", "SIGTERM",
                  "--no-healthcheck", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "1000:1000",
                  "--pids-limit", "2048", "--memory", "1073741824", "--memory-swap", "1073741824", "--cpus", "1.000",
                  "--publish", "127.0.0.1::7070", "example.org/image:1", "launch", "/.skiff/launch.json"));
}

TEST(CreateArguments, FollowTheOptions) {
  SandboxSpec spec{.name = "box", .labels = {{"example.org/team", "a"}, {"plain", "b"}}};
  spec.pod.network = "deny";
  spec.pod.run_as = "image";
  spec.pod.seccomp = "Unconfined";
  spec.pod.pull_policy = "IfNotPresent";
  spec.pod.workdir = "/srv";
  const auto words = create_arguments(true, record_of(spec), "state");
  EXPECT_THAT(
      words, IsSupersetOf({"none", "seccomp=unconfined", "missing", "/srv", "example.org/team=a", "python:3.12-slim"}));
  for (const char* absent : {"--publish", "--user", "--no-healthcheck", "plain=b", "--pids-limit"}) {
    EXPECT_THAT(words, Not(Contains(absent)));
  }
}

TEST(ContainerOf, RefusesWhatItDoesNotOffer) {
  const auto refusal = [](auto change) {
    SandboxSpec spec{.name = "box", .image = "image"};
    change(spec);
    const auto container = container_of(spec);
    return container ? std::string{} : container.error().field;
  };
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.image = "-v"; }), "--image");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.image = "a b"; }), "--image");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.image = "a\nb"; }), "--image");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.disk = "1Gi"; }), "--disk");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.network = "dns"; }), "--network");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.seccomp = "Localhost/x"; }), "--seccomp");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.volumes = {"1Gi:/data"}; }), "--volume");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.memory = "1Ki"; }), "--memory");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.memory = "1Zz"; }), "--memory");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.cpu = "1m"; }), "--cpu");
  EXPECT_EQ(refusal([](SandboxSpec& spec) { spec.pod.allow = {"10.0.0.0/8"}; }), "--allow");
}

TEST(AdaptTo, RefusesANamedOneThatCannotBeHeld) {
  HostRecord usual = record_of({});
  ASSERT_TRUE(adapt_to(*usual.container, {}).has_value());
  EXPECT_EQ(usual.container->memory_bytes, 0U);
  EXPECT_EQ(usual.container->cpu_millis, 0U);
  SandboxSpec spec;
  spec.pod.cpu = "250m:1500m";
  HostRecord named = record_of(spec);
  EXPECT_EQ(named.container->cpu_millis, 1500U) << "a request means nothing here";
  EXPECT_EQ(adapt_to(*named.container, {.memory = true}).error().field, "--cpu");
}

TEST(PutInArguments, KeepTheOwnersOfTheArchive) {
  EXPECT_THAT(put_in_arguments({.id = "id"}), ElementsAre("cp", "-", "id:/"));
  EXPECT_THAT(put_in_arguments({.id = "id", .is_podman = true}), ElementsAre("cp", "--archive=false", "-", "id:/"));
}

TEST(LaunchPlan, HasTheSettingsOfTheAgent) {
  SandboxSpec spec{.name = "box", .env = {{"A", "x\ny"}, {"SANDBOX_ID", "other"}}};
  spec.pod.dialects = {"e2b"};
  spec.pod.entrypoint = "serve 'a b'";
  const auto text = launch_plan(record_of(spec), "key");
  ASSERT_TRUE(text.has_value()) << text.error().message;
  const auto plan = nlohmann::json::parse(*text);
  EXPECT_EQ(plan["environment"]["A"], "x\ny");
  EXPECT_EQ(plan["environment"]["SANDBOX_ID"], "s-1");
  EXPECT_EQ(plan["environment"]["SKIFF_PUBLIC_KEY"], "key");
  EXPECT_EQ(plan["environment"]["HOME"], "/home/user");
  const auto words = plan["arguments"].get<std::vector<std::string>>();
  EXPECT_THAT(words, IsSupersetOf({"0.0.0.0:7070", "/workspace", "/home/user", "--", "serve", "a b"}));
  EXPECT_THAT(words, Contains(HasSubstr("e2b=127.0.0.1:49983")));
}

TEST(LaunchPlan, AClosedContainerListensOnLoopbackAlone) {
  SandboxSpec spec;
  spec.pod.network = "deny";
  EXPECT_THAT(launch_plan(record_of(spec), "key").value_or(""), HasSubstr("127.0.0.1:7070"));
}

}  // namespace
}  // namespace skiff::container::docker
