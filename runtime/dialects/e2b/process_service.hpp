#pragma once

#include <string>

#include "runtime/dialects/e2b/rpc.hpp"

/// The methods of process.Process. A process is a command in the agent's default session, however it was started.
namespace skiff::runtime::dialects::e2b {

/// Starts a process and streams its events. The call's time limits the stream; with `--e2b-deadline kill` it limits the
/// process, too.
[[nodiscard]] Task<Result<>> start_process(StreamCall* call);
/// Streams the events of a process, also of one that has ended, as long as it is kept.
[[nodiscard]] Task<Result<>> connect_process(StreamCall* call);
/// Writes the input of a stream to a process, and waits until the process has taken it.
[[nodiscard]] Task<Result<>> stream_input(StreamCall* call);

[[nodiscard]] Task<Result<std::string>> list_processes(Call* call, std::string message);
[[nodiscard]] Task<Result<std::string>> update_process(Call* call, std::string message);
[[nodiscard]] Task<Result<std::string>> send_input(Call* call, std::string message);
/// Sends a signal to the whole process tree. After SIGKILL it answers when no process of the tree is left.
[[nodiscard]] Task<Result<std::string>> send_signal(Call* call, std::string message);
[[nodiscard]] Task<Result<std::string>> close_stdin(Call* call, std::string message);

}  // namespace skiff::runtime::dialects::e2b
