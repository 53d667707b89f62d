#pragma once

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cli/context.hpp"
#include "container/launcher/command_stream.hpp"

namespace skiff::container {

struct AttachedOptions {
  bool stdin_too = false;  ///< what comes on stdin goes to the command, its end too
  bool terminal = false;   ///< the command has a terminal: pass keys as they are typed, and sizes
  bool signals = true;     ///< signals to skiff are the command's
  bool starts = true;      ///< the command is started by this; it takes input from then on
  /// Leave at this offset of the output, if the command has not ended before.
  std::optional<std::uint64_t> until = {};
};

/// Joins a command to this process's stdin, stdout, stderr, signals and terminal until it ends; gives the exit status
/// that skiff should have for it. The third interrupt leaves the command alone. Nobody reading stdout any more is told
/// to the command as the kernel would: SIGPIPE.
[[nodiscard]] Task<Result<int>> stay_attached(Context* context, CommandStream* command, AttachedOptions options);

/// The exit status for an `exit` event or the result of a command, and what has to be said about it on stderr.
[[nodiscard]] int exit_status(const nlohmann::json& exit);

}  // namespace skiff::container
