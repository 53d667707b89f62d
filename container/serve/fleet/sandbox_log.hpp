#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"

namespace skiff::container::serve {

/// Levels in the order of their severity.
enum class LogLevel : std::uint8_t { debug, info, warn, error };
[[nodiscard]] std::string_view log_level_word(LogLevel level) noexcept;

struct LogEntry {
  std::int64_t time = 0;  ///< milliseconds since 1970
  LogLevel level = LogLevel::info;
  std::string message;                        ///< valid UTF-8, without an end of line
  std::map<std::string, std::string> fields;  ///< "session", "command", and the "stream" of a line
};

/// Selects entries.
struct LogQuery {
  std::optional<std::int64_t> from =
      {};  ///< milliseconds since 1970: entries since then, or with `backward` up to then
  std::size_t limit = 1000;
  bool backward = false;  ///< newest entries first
  LogLevel least = LogLevel::debug;
  std::string search = {};  ///< text that the message must contain; empty: any
};

/// Number of commands, the newest ones, whose output is read, and most bytes at the end of each command's output.
inline constexpr std::size_t kLoggedCommands = 100;
inline constexpr std::uint64_t kLoggedOutput = std::uint64_t{64} << 10U;

/// The log of a sandbox's commands, from its agent: their starts (info), each line of their output (stdout info, stderr
/// warn), and their ends (info, or error). The agent is not trusted: its answers are bounded, and its text is never
/// interpreted.
[[nodiscard]] Task<Result<std::vector<LogEntry>>> read_sandbox_log(AgentClient* agent, LogQuery query);

}  // namespace skiff::container::serve
