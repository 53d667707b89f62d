#pragma once

#include <string>

#include "runtime/api/call.hpp"
#include "runtime/api/requests.hpp"

/// Handlers of /v1/sessions/{sid}/commands and of what lies below it.
namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> start_command(Call& call);
[[nodiscard]] Task<Result<>> list_commands(Call& call);
[[nodiscard]] Task<Result<>> show_command(Call& call);
[[nodiscard]] Task<Result<>> read_output(Call& call);
[[nodiscard]] Task<Result<>> write_stdin(Call& call);
[[nodiscard]] Task<Result<>> signal_command(Call& call);
[[nodiscard]] Task<Result<>> resize_command(Call& call);
[[nodiscard]] Task<Result<>> delete_command(Call& call);

/// Starts what `request` asks for in `session`, with the rules that hold for every way in: if_instance, user switching,
/// trace context. Records the command's id for the access log.
[[nodiscard]] Task<Result<sessions::Session::Started>> start(Call& call, std::shared_ptr<sessions::Session> session,
                                                             const CommandRequest* request);
/// The same for who asks over a connection that is no longer HTTP.
[[nodiscard]] Task<Result<sessions::Session::Started>> start(Agent& agent, const Caller* caller,
                                                             std::shared_ptr<sessions::Session> session,
                                                             const CommandRequest* request);
/// Sends one signal as /signal and the WebSocket do, with its default target and its escalation.
[[nodiscard]] Task<Result<>> send_signal(std::shared_ptr<sessions::Command> command, SignalRequest request);

}  // namespace skiff::runtime::api
