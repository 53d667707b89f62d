#pragma once

#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "protocol/grpc/call.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/dialects/sandboxd/process_table.hpp"

/// The methods of process.v1.ProcessService. Commands are the agent's own, in the default session. Whoever started one
/// by Start or Execute holds it: when the call is over for another reason than the command's end, its tree is ended.
namespace skiff::runtime::dialects::sandboxd {

/// What the calls of one gRPC endpoint share.
struct ProcessService {
  Agent& agent;
  ProcessTable table = {};
};

/// One call of a method on its way. Lives as long as the method.
struct ServiceCall {
  ProcessService& service;
  protocol::GrpcCall& grpc;
  api::Caller caller;
  std::optional<std::string> timeout = {};  ///< grpc-timeout
  std::string command = {};                 ///< set by the method, for the audit log: that was started
  bool over_time = false;                   ///< the call's time is over
};

[[nodiscard]] Task<protocol::GrpcStatus> start_process(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> execute_process(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> write_stdin(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> send_signal(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> resize_terminal(ServiceCall* call);

}  // namespace skiff::runtime::dialects::sandboxd
