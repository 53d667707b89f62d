#include "container/drivers/docker/answers.hpp"

#include <gtest/gtest.h>

namespace skiff::container::docker {
namespace {

const std::string kId(64, 'a');

TEST(ParseInfo, ReadsDocker) {
  const auto info = parse_info(R"({"ID": "x", "MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": false,
                                   "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]})");
  ASSERT_TRUE(info.has_value()) << info.error().message;
  EXPECT_TRUE(info->memory && info->cpu && !info->pids && info->rootless && !info->is_podman);
}

TEST(ParseInfo, ReadsPodman) {
  const auto info = parse_info(R"({"host": {"cgroupControllers": ["cpuset", "cpu", "memory"],
                                            "security": {"rootless": false}}, "version": {"Version": "4.3.1"}})");
  ASSERT_TRUE(info.has_value()) << info.error().message;
  EXPECT_TRUE(info->memory && info->cpu && !info->pids && !info->rootless && info->is_podman);
  const auto without = parse_info(R"({"host": {"cgroupControllers": null, "security": {"rootless": true}}})");
  ASSERT_TRUE(without.has_value()) << without.error().message;
  EXPECT_TRUE(!without->memory && !without->cpu && !without->pids && without->rootless);
}

TEST(ParseInfo, RefusesOthers) {
  for (const char* text : {"", "nonsense", "[]", "{}", R"({"host": 1})"}) {
    EXPECT_FALSE(parse_info(text).has_value()) << text;
  }
}

TEST(ParseInspect, ReadsARunningContainer) {
  const auto state = parse_inspect(
      R"([{"State": {"Running": true, "Pid": 77, "ExitCode": 0, "OOMKilled": false, "Error": ""},
           "NetworkSettings": {"Ports": {"7070/tcp": [{"HostIp": "::1", "HostPort": "1"},
                                                      {"HostIp": "127.0.0.1", "HostPort": "37957"}]}}}])",
      7070);
  ASSERT_TRUE(state.has_value()) << state.error().message;
  EXPECT_TRUE(state->is_running);
  EXPECT_EQ(state->pid, 77);
  EXPECT_EQ(state->port, 37957);
}

TEST(ParseInspect, ReadsAnEnd) {
  const auto state = parse_inspect(
      R"([{"State": {"Running": false, "Pid": 0, "ExitCode": 137, "OOMKilled": true, "Error": "why"},
           "NetworkSettings": {"Ports": {"7070/tcp": null}}}])",
      7070);
  ASSERT_TRUE(state.has_value()) << state.error().message;
  EXPECT_FALSE(state->is_running);
  EXPECT_EQ(state->exit_code, 137);
  EXPECT_TRUE(state->out_of_memory);
  EXPECT_EQ(state->error, "why");
  EXPECT_EQ(state->port, 0);
}

TEST(ParseInspect, TakesNoOtherAddressForTheAgent) {
  for (const char* binding :
       {R"({"HostIp": "0.0.0.0", "HostPort": "80"})", R"({"HostIp": "127.0.0.1"})",
        R"({"HostIp": "127.0.0.1", "HostPort": "99999"})", R"({"HostIp": "127.0.0.1", "HostPort": "8x"})"}) {
    const auto state = parse_inspect(
        R"([{"State": {}, "NetworkSettings": {"Ports": {"7070/tcp": [)" + std::string{binding} + "]}}}]", 7070);
    ASSERT_TRUE(state.has_value()) << binding;
    EXPECT_EQ(state->port, 0) << binding;
  }
}

TEST(ParseInspect, RefusesOthers) {
  for (const char* text : {"", "[]", "{}", "[1]", R"([{"State": 1}])", R"([{"State": {}}, {"State": {}}])"}) {
    EXPECT_FALSE(parse_inspect(text, 7070).has_value()) << text;
  }
}

TEST(ParseList, ReadsOurLinesAlone) {
  const auto all = parse_list(kId + " skiff-one.s-1 Up 3 minutes\n" + kId + " skiff-two.s-2 Exited (0) 1 hour ago\n" +
                              kId + " other Up\n" + kId + " skiff-nodot Up\n" + kId + " skiff-../x.s-1 Up\n" +
                              "short skiff-one.s-1 Up\n\n" + kId + "\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "one");
  EXPECT_EQ(all[0].sandbox_id, "s-1");
  EXPECT_TRUE(all[0].is_running);
  EXPECT_FALSE(all[1].is_running);
}

TEST(ParseCreated, TakesTheLastLine) {
  EXPECT_EQ(parse_created("notice\n" + kId + "\n").value_or(""), kId);
  for (const std::string& text : {std::string{}, std::string{"name\n"}, kId + "x\n", std::string(64, 'G')}) {
    EXPECT_FALSE(parse_created(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace skiff::container::docker
