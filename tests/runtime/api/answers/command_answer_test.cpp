#include "runtime/api/answers/command_answer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace skiff::runtime::api {
namespace {

nlohmann::json end_of(const sessions::ExitStatus& status) {
  return nlohmann::json::parse(exit_answer().text(status));
}

TEST(ExitAnswer, SaysHowACommandEnded) {
  sessions::ExitStatus status;
  status.exit_code = 3;
  status.output_complete = true;
  status.usage.wall = std::chrono::microseconds{2'999};
  status.usage.read_blocks = 2;
  const nlohmann::json exited = end_of(status);
  EXPECT_EQ(exited["exit_code"], 3);
  EXPECT_EQ(exited["signal"], nullptr);
  EXPECT_EQ(exited["cause"], "exited");
  EXPECT_EQ(exited["duration_ms"], 2);
  EXPECT_EQ(exited["usage"]["read_bytes"], 1024);
  for (const char* absent : {"core_dumped", "background", "state_saved", "kill_level", "error"}) {
    EXPECT_FALSE(exited.contains(absent)) << absent;
  }
  EXPECT_FALSE(exited["usage"].contains("peak_bytes"));

  status.exit_code.reset();
  status.signal = 15;
  status.core_dumped = true;
  status.background = {7, 8};
  status.kill_level = "tree";
  status.failure = sessions::SpawnFailure{.stage = "exec", .error = ENOENT, .message = "no such program"};
  const nlohmann::json failed = end_of(status);
  EXPECT_EQ(failed["exit_code"], nullptr);
  EXPECT_EQ(failed["signal"], "SIGTERM");
  EXPECT_EQ(failed["background"], (nlohmann::json{7, 8}));
  EXPECT_EQ(failed["error"], (nlohmann::json{{"stage", "exec"}, {"errno", "ENOENT"}, {"message", "no such program"}}));
}

TEST(ExitAnswer, IsDescribedAsItIsWritten) {
  const nlohmann::json written = end_of({});
  const nlohmann::json schema = nlohmann::json::parse(exit_answer().schema().json);
  for (const auto& [name, value] : written.items()) {
    EXPECT_TRUE(schema["properties"].contains(name)) << name;
    if (value.is_object()) EXPECT_EQ(schema["properties"][name]["type"], "object") << name;
  }
  for (const nlohmann::json& name : schema["required"]) EXPECT_TRUE(written.contains(name)) << name;
}

TEST(Limits, NameTheMechanismThatEnforcesThem) {
  EXPECT_FALSE(enforced({}));
  const sessions::ResourceLimits limits{.pids = 9, .open_files = 20};
  std::string text;
  AnswerValue<Enforced>::append(text, *enforced(limits));
  EXPECT_EQ(text, R"({"pids":{"value":9,"by":"cgroup"},"open_files":{"value":20,"by":"rlimit"}})");
}

}  // namespace
}  // namespace skiff::runtime::api
