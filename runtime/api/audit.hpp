#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"

/// What goes into the audit log: never a credential, an environment, input or output.
namespace skiff::runtime::api {

/// What the metrics and the logs tell of a request, gathered on its way.
struct RequestRecord {
  Caller caller;
  std::string session = {};      ///< the session that it is about
  std::string command = {};      ///< the command that it started
  std::string_view route = "-";  ///< the path of the route; never the client's own text
  std::size_t row = 0;           ///< of `Agent::requests`
  bool is_aside = false;         ///< everybody may ask it: only metrics, and the log at its debug level, tell of it
  SteadyTime began = std::chrono::steady_clock::now();
};

/// How it was answered.
struct Answered {
  std::string_view peer;
  std::string_view method;
  unsigned status = 0;
  std::uint64_t bytes = 0;
  std::chrono::microseconds duration{};
};
/// `{"time","event":"request",...}`, when the answer is over.
void audit_request(const Agent& agent, const RequestRecord& request, const Answered& answered);

/// `{"time","event":"command",...}`, when a command was started: who had it run where, its size and SHA-256, and under
/// --audit-commands what it is.
void audit_command(const Agent& agent, const Caller& caller, const sessions::Command& command);

}  // namespace skiff::runtime::api
