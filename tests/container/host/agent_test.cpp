#include "container/host/agent.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

HostRecord record_with_lease() {
  return {.name = "box",
          .id = "s-1",
          .owner = {},
          .labels = {},
          .env = {{"WHO", "me"}, {"PATH", "/own"}},
          .ttl = std::chrono::milliseconds{5000},
          .idle_ttl = {},
          .created_at = {},
          .expires_ms = {},
          .boot = {}};
}

TEST(AgentEnvironment, HoldsWhatAShellNeedsAndNothingOfOurs) {
  const std::array<const char*, 6> ours{"HOME=/home/me", "AWS_SECRET_ACCESS_KEY=x", "PATH=/usr/bin",
                                        "LC_ALL=C",      "SKIFF_TOKEN=secret",      nullptr};
  const auto environment = agent_environment(ours.data(), record_with_lease(), "PEM");
  const auto holds = [&](std::string_view entry) { return std::ranges::count(environment, entry) == 1; };
  EXPECT_TRUE(holds("HOME=/home/me"));
  EXPECT_TRUE(holds("LC_ALL=C"));
  EXPECT_TRUE(holds("PATH=/own"));
  EXPECT_TRUE(holds("WHO=me"));
  EXPECT_TRUE(holds("SANDBOX_ID=s-1"));
  EXPECT_TRUE(holds("SKIFF_PUBLIC_KEY=PEM"));
  EXPECT_EQ(environment.size(), 6U);
}

TEST(AgentEnvironment, TakesTheKeyFromNobodyElse) {
  const std::array<const char*, 2> ours{"SKIFF_PUBLIC_KEY=ours", nullptr};
  HostRecord record = record_with_lease();
  record.env["SKIFF_PUBLIC_KEY"] = "theirs";
  const auto environment = agent_environment(ours.data(), record, "PEM");
  EXPECT_EQ(std::ranges::count(environment, "SKIFF_PUBLIC_KEY=PEM"), 1);
  EXPECT_EQ(
      std::ranges::count_if(environment, [](const std::string& one) { return one.starts_with("SKIFF_PUBLIC_KEY="); }),
      1);
}

TEST(AgentArguments, NameTheSandboxItsDirectoryAndItsLease) {
  const auto argv =
      agent_arguments(local_place("/bin/skiffd", record_with_lease(), "/state/box/root"), record_with_lease());
  EXPECT_EQ(argv.front(), "/bin/skiffd");
  const auto value_of = [&](std::string_view flag) {
    const auto at = std::ranges::find(argv, flag);
    return at == argv.end() ? std::string{} : *(at + 1);
  };
  EXPECT_EQ(value_of("--listen"), "127.0.0.1:0");
  EXPECT_EQ(value_of("--root"), "/state/box/root");
  EXPECT_EQ(value_of("--sandbox-id"), "s-1");
  EXPECT_EQ(value_of("--ttl"), "5000");
  EXPECT_EQ(value_of("--idle-ttl"), "");
}

TEST(AgentArguments, HaveTheDialectsOnFreePorts) {
  HostRecord record = record_with_lease();
  record.dialects = {"sandboxd", "kubebox"};
  const auto argv = agent_arguments(local_place("/bin/skiffd", record, "/state/box/root"), record);
  for (const std::string_view value : {"sandboxd=127.0.0.1:0,127.0.0.1:0", "kubebox=127.0.0.1:0"}) {
    const auto at = std::ranges::find(argv, value);
    ASSERT_NE(at, argv.end()) << value;
    EXPECT_EQ(*(at - 1), "--dialect");
  }
  EXPECT_EQ(
      std::ranges::count(agent_arguments(local_place("/bin/skiffd", record_with_lease(), "/r"), record_with_lease()),
                         "--dialect"),
      0);
}

TEST(LastLines, AreFiveAtMost) {
  EXPECT_EQ(last_lines(""), "");
  EXPECT_EQ(last_lines("\n\n"), "");
  EXPECT_EQ(last_lines("one\n"), "one");
  EXPECT_EQ(last_lines("1\n2\n3\n4\n5\n"), "1\n2\n3\n4\n5");
  EXPECT_EQ(last_lines("0\n1\n2\n3\n4\n5"), "1\n2\n3\n4\n5");
}

}  // namespace
}  // namespace skiff::container
