#pragma once

#include <string>

#include "runtime/api/call.hpp"
#include "runtime/api/requests.hpp"

/// Handlers of /v1/sessions/{sid}/commands and the routes below it.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> start_command(Call& call);
[[nodiscard]] Task<Result<>> list_commands(Call& call);
[[nodiscard]] Task<Result<>> show_command(Call& call);
[[nodiscard]] Task<Result<>> read_output(Call& call);
[[nodiscard]] Task<Result<>> write_stdin(Call& call);
[[nodiscard]] Task<Result<>> signal_command(Call& call);
[[nodiscard]] Task<Result<>> resize_command(Call& call);
[[nodiscard]] Task<Result<>> delete_command(Call& call);

/// Starts a command in `session`, with the checks that all protocols share: if_instance and user switching. Passes the
/// trace context on, and records the command's id for the logs.
[[nodiscard]] Task<Result<sessions::Session::Started>> start(Call& call, std::shared_ptr<sessions::Session> session,
                                                             const CommandRequest* request);
/// Starts a command for a client of another protocol, or of a WebSocket. `channels`: what it has beside its streams.
[[nodiscard]] Task<Result<sessions::Session::Started>> start(Agent& agent, const Caller* caller,
                                                             std::shared_ptr<sessions::Session> session,
                                                             const CommandRequest* request,
                                                             std::shared_ptr<sessions::Channels> channels = nullptr);
/// Sends a signal for /signal and WebSockets, with the default target and the escalation.
[[nodiscard]] Task<Result<>> send_signal(std::shared_ptr<sessions::Command> command, SignalRequest request);

}  // namespace skiff::runtime::api
