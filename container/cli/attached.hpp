#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/command_stream.hpp"
#include "container/cli/context.hpp"
#include "container/cli/detach_keys.hpp"

namespace skiff::container {

struct AttachedOptions {
  bool stdin_too = false;  ///< what comes on stdin goes to the command, its end too
  bool terminal = false;   ///< the command has a terminal: pass keys as they are typed, and sizes
  bool signals = true;     ///< signals to skiff are the command's
  bool starts = true;      ///< the command is started by this; it takes input from then on
  /// What was dropped before this offset was so before this began, and is not asked for.
  std::uint64_t missed_until = 0;
  /// Leave at this offset of the output, if the command has not ended before.
  std::optional<std::uint64_t> until = {};
  DetachKeys detach = {};    ///< typed on a terminal they leave the command alone
  std::string sandbox = {};  ///< where the command is found again then
  std::string session = "default";
};

struct AttachedEnd {
  int status = 0;            ///< that skiff should have
  bool is_detached = false;  ///< the command goes on
  /// Some of the output, or of the input, was lost, which was said; `status` is `kFailed` then.
  bool is_incomplete = false;
};

/// Joins a command to this process's stdin, stdout, stderr, signals and terminal until it ends, or its user leaves it
/// by the detach keys and is told how to come back. The third interrupt leaves the command alone, too. Nobody reading
/// stdout any more is told to the command as the kernel would: SIGPIPE.
[[nodiscard]] Task<Result<AttachedEnd>> stay_attached(Context* context, CommandStream* command,
                                                      AttachedOptions options);

/// The exit status for an `exit` event or the result of a command, and what has to be said about it on stderr.
[[nodiscard]] int exit_status(const CommandExit& exit);

}  // namespace skiff::container
