#pragma once

#include <cstddef>

#include "runtime/agent.hpp"
#include "runtime/api/audit.hpp"

namespace skiff::runtime::api {

/// How much of an answered request is told.
enum class Told : unsigned char {
  all,    ///< the audit log has it too
  aside,  ///< of a route that is open to everybody: metrics, and the log at its debug level
};

/// What is told of a request when its answer is over: the metrics, counted in `row` of `RequestCounts`, the audit log,
/// and a line of the log.
void account_for(Agent& agent, std::size_t row, const AuditedRequest& request, Told told = Told::all);

}  // namespace skiff::runtime::api
