#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"

namespace skiff::container::serve {

/// In the order of their weight.
enum class LogLevel : std::uint8_t { debug, info, warn, error };
[[nodiscard]] std::string_view log_level_word(LogLevel level) noexcept;

struct LogEntry {
  std::int64_t time = 0;  ///< milliseconds since 1970
  LogLevel level = LogLevel::info;
  std::string message;                        ///< valid UTF-8, without an end of line
  std::map<std::string, std::string> fields;  ///< "session", "command", "stream" of a line
};

/// Which entries.
struct LogQuery {
  std::optional<std::int64_t> from = {};  ///< milliseconds since 1970: since then, or with `backward` up to then
  std::size_t limit = 1000;
  bool backward = false;  ///< the newest ones first
  LogLevel least = LogLevel::debug;
  std::string search = {};  ///< is in the message; empty: any
};

/// Commands that are looked at, the newest ones, and of each so many bytes of what it has printed last.
inline constexpr std::size_t kLoggedCommands = 100;
inline constexpr std::uint64_t kLoggedOutput = std::uint64_t{64} << 10U;

/// What the commands of a sandbox did, as its agent tells it: that they began (info), each line that they printed
/// (stdout info, stderr warn), and how they ended (info, or error). An agent that lies harms nobody but who asks:
/// what it says is bounded, and text from it is text.
[[nodiscard]] Task<Result<std::vector<LogEntry>>> read_sandbox_log(AgentClient* agent, LogQuery query);

}  // namespace skiff::container::serve
