#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"
#include "container/cli/attached.hpp"

namespace skiff::container {

/// The id of the command that `skiff run` starts in a sandbox that stays.
inline constexpr std::string_view kMainCommand = "main";

/// The id of the command that is meant where none is named: what `skiff run` has started, else the newest.
/// `command_not_found` where none was.
[[nodiscard]] Task<Result<std::string>> unnamed_command(AgentClient* agent, std::string session);

/// The flags of a command that is started: how it is joined to this terminal, where it runs, how long.
class CommandFlags {
 public:
  /// Rows point into this object.
  [[nodiscard]] std::vector<Setting> rows();
  /// With those that only a command has in a sandbox that is there: for a new one they are the sandbox's own.
  [[nodiscard]] std::vector<Setting> rows_of_an_existing_sandbox();

  /// The body of a request to start `argv`. Errors: a terminal is asked for and there is none.
  [[nodiscard]] Result<nlohmann::json> request(std::vector<std::string> argv) const;
  /// How this process is joined to it, in the sandbox of that name.
  [[nodiscard]] Result<AttachedOptions> attached(std::string sandbox) const;

 private:
  bool interactive_ = false;
  bool terminal_ = false;
  std::string cwd_;
  std::string user_;
  std::chrono::milliseconds timeout_{0};
  std::string detach_keys_{DetachKeys::kDefault};
};

/// The session of a sandbox that a command is in.
[[nodiscard]] Setting session_row(std::string* session, char letter = 's');

/// The size of this terminal as the agent wants it.
[[nodiscard]] nlohmann::json terminal_request();

}  // namespace skiff::container
