#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"

/// What goes into the audit log: never a credential, an environment, input or output.
namespace skiff::runtime::api {

/// One answered request.
struct AuditedRequest {
  std::string_view request_id;
  std::string_view who;  ///< Identity::name; empty: nobody that is known
  std::string_view peer;
  std::string_view method;
  std::string_view route;    ///< the template
  std::string_view session;  ///< that the path names
  std::string_view command;  ///< that was started
  std::string_view traceparent;
  unsigned status = 0;
  std::uint64_t bytes = 0;
  std::chrono::microseconds duration{};
};
/// `{"time","event":"request",...}`, when the answer is over.
void audit_request(const Agent& agent, const AuditedRequest& request);

/// `{"time","event":"command",...}`, when a command was started: who had it run where, its size and SHA-256, and under
/// --audit-commands what it is.
void audit_command(const Agent& agent, const Caller& caller, const sessions::Command& command);

}  // namespace skiff::runtime::api
