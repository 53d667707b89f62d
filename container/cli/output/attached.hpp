#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/stream/command_stream.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/detach_keys.hpp"

namespace skiff::container {

struct AttachedOptions {
  bool stdin_too = false;  ///< pass stdin on to the command, and its end
  bool terminal = false;   ///< the command has a terminal: pass on each key as it is typed, and changes of the size
  bool signals = true;     ///< pass signals to skiff on to the command
  bool starts = true;      ///< this call starts the command, and passes input on from its start
  /// Gaps before this offset existed before the call: they are reported, but do not count as a loss.
  std::uint64_t missed_until = 0;
  /// Detach at this offset of the output if the command has not ended before.
  std::optional<std::uint64_t> until = {};
  DetachKeys detach = {};    ///< keys that detach from the command when they are typed on a terminal
  std::string sandbox = {};  ///< for the message that says how to attach again
  std::string session = "default";
};

struct AttachedEnd {
  int status = 0;            ///< exit status for skiff
  bool is_detached = false;  ///< the command goes on
  /// Some output or input was lost, and this was reported; `status` is `kFailed` then.
  bool is_incomplete = false;
};

/// Joins a command to this process's stdin, stdout, stderr, signals and terminal until it ends or the user detaches, by
/// the detach keys or by the third interrupt. After the keys it prints how to attach again. If stdout is no longer
/// read, the command gets SIGPIPE, as from the kernel.
[[nodiscard]] Task<Result<AttachedEnd>> stay_attached(Context* context, CommandStream* command,
                                                      AttachedOptions options);

/// The exit status for an `exit` event or the result of a command, with a message to stderr if it could not be started,
/// or was ended.
[[nodiscard]] int exit_status(const CommandExit& exit);

}  // namespace skiff::container
