#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/api/code/frames.hpp"
#include "runtime/api/requests.hpp"

/// The bodies of the routes of code, as lists of fields.
namespace skiff::runtime::api {

enum class CodeMode : std::uint8_t { wait, stream };

struct CodeRequest {
  std::string code;
  std::optional<std::string> language;
  std::optional<std::string> context;
  std::map<std::string, std::string> env;
  std::optional<Milliseconds> timeout;
  CodeMode mode = CodeMode::wait;
  std::uint64_t max_output_bytes = 1 << 20;

  static constexpr std::string_view kSchemaName = "CodeRequest";
  static constexpr auto fields = std::tuple{
      field("code", &CodeRequest::code, "The code", {.text = Text::no_nul}),
      field("language", &CodeRequest::language, "python (the default), javascript or bash; excludes context"),
      field("context", &CodeRequest::context, "Id of the context to run it in; by default that of the language",
            {.text = Text::id}),
      field("env", &CodeRequest::env, "Variables of the environment while it runs; bash keeps them",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("timeout_ms", &CodeRequest::timeout, "End the context with its process tree after this time",
            {.minimum = 1, .maximum = kLongestTime}),
      field("mode", &CodeRequest::mode, "When to answer: after the end, or with events as they happen",
            {.optional = true}),
      field("max_output_bytes", &CodeRequest::max_output_bytes, "Mode wait: longest stdout or stderr in the answer",
            {.minimum = 0, .maximum = 4 << 20, .optional = true}),
  };
};

struct CodeContextRequest {
  std::optional<std::string> language;
  std::optional<std::string> cwd;

  static constexpr std::string_view kSchemaName = "CodeContextRequest";
  static constexpr auto fields = std::tuple{
      field("language", &CodeContextRequest::language, "python (the default), javascript or bash"),
      field("cwd", &CodeContextRequest::cwd, "Directory in which it starts, relative to the session's",
            {.text = Text::no_nul}),
  };
};

/// A context as routes show it.
struct CodeContextShown {
  std::string id;
  std::string language;
  std::string cwd;
  std::optional<std::string> command;

  static constexpr std::string_view kSchemaName = "CodeContext";
  static constexpr auto fields = std::tuple{
      field("id", &CodeContextShown::id, "Id"),
      field("language", &CodeContextShown::language, "Its language"),
      field("cwd", &CodeContextShown::cwd, "Directory in which it starts"),
      field("command", &CodeContextShown::command, "The command that runs its code; absent: none runs now"),
  };
};

struct CodeContextList {
  std::vector<CodeContextShown> items;

  static constexpr std::string_view kSchemaName = "CodeContextList";
  static constexpr auto fields = std::tuple{field("items", &CodeContextList::items, "All of them, oldest first")};
};

/// The answer of the mode `wait`.
struct CodeAnswer {
  std::string context;
  bool fresh = false;
  std::string out;
  std::string err;
  std::vector<CodeResult> results;
  std::optional<CodeError> error;
  std::uint64_t execution_count = 0;
  std::string cause;
  bool truncated = false;

  static constexpr std::string_view kSchemaName = "CodeAnswer";
  static constexpr auto fields = std::tuple{
      field("context", &CodeAnswer::context, "Id of the context"),
      field("fresh", &CodeAnswer::fresh, "The context was started for this call: it had no variables"),
      field("stdout", &CodeAnswer::out, "What it printed"),
      field("stderr", &CodeAnswer::err, "What it printed to standard error"),
      field("results", &CodeAnswer::results, "Values that it has shown, in order"),
      field("error", &CodeAnswer::error, "The exception that has ended it; ContextEnded: its process has ended"),
      field("execution_count", &CodeAnswer::execution_count, "Calls in this context since it was started"),
      field("cause", &CodeAnswer::cause,
            "completed; or why the context has ended: timeout, ended (by itself), invalid (it has sent nonsense)"),
      field("truncated", &CodeAnswer::truncated, "Output or results were left out"),
  };
};

}  // namespace skiff::runtime::api

namespace skiff::protocol {

template <>
struct EnumNames<runtime::api::CodeMode> {
  static constexpr std::string_view kSchemaName = "CodeMode";
  static constexpr std::array values{EnumName{runtime::api::CodeMode::wait, "wait"},
                                     EnumName{runtime::api::CodeMode::stream, "stream"}};
};

}  // namespace skiff::protocol
