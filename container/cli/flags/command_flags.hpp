#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/settings/settings.hpp"
#include "container/agent/client.hpp"
#include "container/cli/output/attached.hpp"

namespace skiff::container {

/// The id of the command that `skiff run` starts in a sandbox that is kept.
inline constexpr std::string_view kMainCommand = "main";

/// The id of the command that is used where none is named: the one that `skiff run` has started, else the newest.
/// `command_not_found` if no command was started.
[[nodiscard]] Task<Result<std::string>> unnamed_command(AgentClient* agent, std::string session);

/// The flags of a command that is started: how it is attached to this terminal, where it runs, and how long.
class CommandFlags {
 public:
  /// Rows point into this object.
  [[nodiscard]] std::vector<Setting> rows();
  /// The rows for a command in an existing sandbox: some of them are flags of the sandbox itself when it is new.
  [[nodiscard]] std::vector<Setting> rows_of_an_existing_sandbox();

  /// The body of a request to start `argv`. It fails if a terminal is wanted and there is none.
  [[nodiscard]] Result<nlohmann::json> request(std::vector<std::string> argv) const;
  /// How this process is attached to the command in the sandbox of that name.
  [[nodiscard]] Result<AttachedOptions> attached(std::string sandbox) const;

 private:
  bool interactive_ = false;
  bool terminal_ = false;
  std::string cwd_;
  std::string user_;
  std::chrono::milliseconds timeout_{0};
  std::string detach_keys_{DetachKeys::kDefault};
};

/// The row of the flag for a command's session.
[[nodiscard]] Setting session_row(std::string* session, char letter = 's');

/// The size of this terminal in the form of the agent's API.
[[nodiscard]] nlohmann::json terminal_request();

}  // namespace skiff::container
