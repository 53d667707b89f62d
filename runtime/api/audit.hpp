#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"

/// The audit log. It never contains credentials, environments, input or output.
namespace skiff::runtime::api {

/// The data about a request for the metrics and logs, collected while it is handled.
struct RequestRecord {
  Caller caller;
  std::string session = {};      ///< id of the session in its path
  std::string command = {};      ///< id of the command that it started
  std::string_view route = "-";  ///< the path of the route; never the client's own text
  std::size_t row = 0;           ///< row of `Agent::requests`
  bool is_aside = false;  ///< the route needs no credential: only the metrics and the debug log record the request
  SteadyTime began = std::chrono::steady_clock::now();
};

/// The answer to a request.
struct Answered {
  std::string_view peer;
  std::string_view method;
  unsigned status = 0;
  std::uint64_t bytes = 0;
  std::chrono::microseconds duration{};
};
/// Writes `{"time","event":"request",...}` when the answer is over.
void audit_request(AuditLog* audit, const RequestRecord& request, const Answered& answered);

/// Writes `{"time","event":"command",...}` when a command was started: the credential, the session, the size and
/// SHA-256 of the command, and with --audit-commands the command itself.
void audit_command(const Agent& agent, const Caller& caller, const sessions::Command& command);

}  // namespace skiff::runtime::api
