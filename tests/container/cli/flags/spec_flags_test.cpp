#include "container/cli/flags/spec_flags.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

Result<SandboxSpec> spec_from_flags(std::vector<const char*> words) {
  SpecFlags flags;
  SettingsTable table{flags.rows()};
  SKIFF_TRY(auto given, table.read_arguments(words));
  return flags.spec("box", "me", given.given);
}

TEST(SpecFlags, MakeASandbox) {
  const auto spec =
      spec_from_flags({"--env", "A=1", "--env", "B=x=y", "--label", "team=a", "--ttl", "1h", "--image", "debian"});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "box");
  EXPECT_EQ(spec->owner, "me");
  EXPECT_EQ(spec->image, "debian");
  EXPECT_EQ(spec->env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "x=y"}}));
  EXPECT_EQ(spec->labels, (std::map<std::string, std::string>{{"team", "a"}}));
  EXPECT_EQ(spec->lease.ttl, std::chrono::hours{1});
  EXPECT_EQ(spec->lease.idle_ttl, std::nullopt);
}

TEST(SpecFlags, TakeVariablesFromAFileAndFromHere) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "env";
  std::ofstream{file} << "\xEF\xBB\xBF# comment\n  A=1\n\nB=2\r\nTEST_IS_HERE\nTEST_IS_NOT_HERE\n";
  ::setenv("TEST_IS_HERE", "here", 1);
  const auto spec = spec_from_flags({"--env-file", file.c_str(), "--env", "B=3"});
  ::unsetenv("TEST_IS_HERE");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}, {"TEST_IS_HERE", "here"}}));
}

TEST(SpecFlags, SayWhatOnlyAClusterHas) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "overrides";
  std::ofstream{file} << "hostNetwork: true\n";
  const auto spec = spec_from_flags({"--no-inject", "--pull-policy", "Always", "--service", "headless", "--port", "80",
                                     "--port", "81", "--node-selector", "disk=fast", "--annotation", "a=b=c",
                                     "--deadline", "5m", "--pod-overrides", file.c_str(), "--run-as", "image"});
  ASSERT_TRUE(spec) << spec.error().message;
  const PodOptions& pod = spec->pod;
  EXPECT_FALSE(pod.inject);
  EXPECT_EQ(pod.pull_policy, "Always");
  EXPECT_EQ(pod.service, ServiceKind::headless);
  EXPECT_EQ(pod.ports, (Texts{"80", "81"}));
  EXPECT_EQ(pod.node_selector, (Pairs{{"disk", "fast"}}));
  EXPECT_EQ(pod.annotations, (Pairs{{"a", "b=c"}}));
  EXPECT_EQ(pod.deadline, std::chrono::minutes{5});
  EXPECT_EQ(pod.overrides, R"({"hostNetwork":true})");
  EXPECT_EQ(pod.run_as, "image");
  EXPECT_EQ(spec_from_flags({})->pod.service, ServiceKind::clusterip);
  for (const auto& [flag, value] : {std::pair{"--pull-policy", "Sometimes"},
                                    {"--service", "none of them"},
                                    {"--node-selector", "disk"},
                                    {"--port", "many"},
                                    {"--pod-overrides", "/no/such/file"}}) {
    EXPECT_FALSE(spec_from_flags({flag, value})) << flag;
  }
  EXPECT_EQ(spec_from_flags({"--toleration", "a:Never"}).error().field, "--toleration");
}

TEST(SpecFlags, OfAPoolSayNothingOfOneSandbox) {
  SpecFlags flags;
  std::set<std::string_view> known;
  for (const Setting& row : flags.rows_of_a_pool()) known.insert(row.flag);
  for (const char* flag : {"label", "ttl", "idle-ttl", "volume", "namespace-per-sandbox", "quota", "port", "service",
                           "username", "allow", "pool"}) {
    EXPECT_FALSE(known.contains(flag)) << flag;
  }
  for (const char* flag : {"image", "env", "cpu", "network", "template", "pod-overrides"}) {
    EXPECT_TRUE(known.contains(flag)) << flag;
  }
}

TEST(SpecFlags, TakeDialectsForOneAndForAPool) {
  const auto spec = spec_from_flags({"--dialect", "sandboxd", "--dialect", "python-runtime"});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->pod.dialects, (std::vector<std::string>{"sandboxd", "python-runtime"}));
  EXPECT_EQ(spec_from_flags({"--dialect", "nope"}).error().field, "--dialect");
  EXPECT_EQ(spec_from_flags({"--dialect", "kubebox", "--dialect", "kubebox"}).error().field, "--dialect");
  SpecFlags of_a_pool;
  EXPECT_EQ(std::ranges::count(of_a_pool.rows_of_a_pool(), "dialect", &Setting::flag), 1);
}

TEST(SpecFlags, RefuseWhatIsNoPair) {
  EXPECT_EQ(spec_from_flags({"--env", "=x"}).error().field, "--env");
  EXPECT_EQ(spec_from_flags({"--label", "x"}).error().field, "--label");
  EXPECT_EQ(spec_from_flags({"--label", "=x"}).error().field, "--label");
  EXPECT_FALSE(spec_from_flags({"--env-file", "/no/such/file"}));
  EXPECT_THAT(spec_from_flags({"--env", "export C=3"}).error().message, testing::HasSubstr("omit export"));
  for (const char* name : {"A B=1", " A=1", "A\t=1", "A\n=1"}) EXPECT_FALSE(spec_from_flags({"--env", name})) << name;
  EXPECT_FALSE(spec_from_flags({"--ttl", "soon"}));
}

TEST(SpecFlags, RefuseVariablesOfTheAgent) {
  const auto refused = spec_from_flags({"--env", "A=1", "--env", "SKIFF_LISTEN=0.0.0.0:1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "--env");
  EXPECT_TRUE(refused.error().message.starts_with("--env SKIFF_LISTEN: ")) << refused.error().message;
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "env";
  std::ofstream{file} << "SKIFF_TTL=1\n";
  EXPECT_FALSE(spec_from_flags({"--env-file", file.c_str()}));
}

}  // namespace
}  // namespace skiff::container
