#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "runtime/api/requests.hpp"

namespace skiff::runtime::api {

struct OutputCondition {
  std::string command;
  std::string pattern;
  static constexpr std::string_view kSchemaName = "OutputCondition";
  static constexpr auto fields = std::tuple{
      field("command", &OutputCondition::command, "Id of the command", {.text = Text::id}),
      field("pattern", &OutputCondition::pattern, "RE2 pattern to search for in the output",
            {.min_length = 1, .max_length = 4096}),
  };
};

struct WaitCondition {
  std::optional<std::string> command;
  std::optional<std::uint16_t> port;
  std::optional<std::string> path;
  std::optional<OutputCondition> output;
  static constexpr std::string_view kSchemaName = "WaitCondition";
  static constexpr auto fields = std::tuple{
      field("command", &WaitCondition::command, "Wait until this command has ended", {.text = Text::id}),
      field("port", &WaitCondition::port, "Wait until a process listens on this TCP port", {.minimum = 1}),
      field("path", &WaitCondition::path, "Wait until this path exists, relative to the session's cwd",
            {.min_length = 1, .text = Text::no_nul}),
      field("output", &WaitCondition::output, "Wait until a command has printed this"),
  };
  static constexpr std::string_view kJsonRule = R"("oneOf":[
    {"required":["command"],"properties":{"command":{"type":"string"},"port":{"type":"null"},"path":{"type":"null"},"output":{"type":"null"}}},
    {"required":["port"],"properties":{"port":{"type":"integer"},"command":{"type":"null"},"path":{"type":"null"},"output":{"type":"null"}}},
    {"required":["path"],"properties":{"path":{"type":"string"},"command":{"type":"null"},"port":{"type":"null"},"output":{"type":"null"}}},
    {"required":["output"],"properties":{"output":{"type":"object"},"command":{"type":"null"},"port":{"type":"null"},"path":{"type":"null"}}}])";
  [[nodiscard]] Result<> validate() const;
};

struct WaitRequest {
  WaitCondition condition;
  std::optional<Milliseconds> timeout;
  static constexpr auto fields = std::tuple{
      field("for", &WaitRequest::condition, "Condition to wait for: exactly one member"),
      field("timeout_ms", &WaitRequest::timeout, "Answer with met: false after this time; default 30 s",
            {.minimum = 0, .maximum = kLongestTime}),
  };
};

}  // namespace skiff::runtime::api
