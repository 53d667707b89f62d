#pragma once

#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "protocol/grpc/call.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/dialects/sandboxd/process_table.hpp"

/// The methods of process.v1.ProcessService. Commands are the agent's own, in the default session. A call of Start or
/// Execute owns its command: if the call is over before the command's end, the command's tree is ended.
namespace skiff::runtime::dialects::sandboxd {

/// Shared by the calls of one gRPC endpoint.
struct ProcessService {
  Agent& agent;
  ProcessTable table = {};
};

/// A call of a method while it is handled. It lives as long as the method.
struct ServiceCall {
  ProcessService& service;
  protocol::GrpcCall& grpc;
  api::Caller caller;
  std::optional<std::string> timeout = {};  ///< the value of grpc-timeout
  std::string command = {};                 ///< the id of the command that the method has started, for the audit log
  bool over_time = false;                   ///< the call's time is over
};

[[nodiscard]] Task<protocol::GrpcStatus> start_process(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> execute_process(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> write_stdin(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> send_signal(ServiceCall* call);
[[nodiscard]] Task<protocol::GrpcStatus> resize_terminal(ServiceCall* call);

}  // namespace skiff::runtime::dialects::sandboxd
