#pragma once

#include "protocol/http/server/server.hpp"
#include "runtime/process/process_stats.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// The limits of a connection, from the settings; for the agent's own addresses and those of the dialects.
[[nodiscard]] inline protocol::ConnectionLimits connection_limits(const Settings& settings) {
  return {.header_bytes = settings.max_header_bytes,
          .target_bytes = settings.max_target_bytes,
          .header_time = settings.header_timeout,
          .body_idle_time = settings.body_timeout,
          .keep_alive_time = settings.idle_timeout,
          .write_stall_time = settings.write_timeout,
          .slots = protocol::slots_within(most_open_files(), settings.max_connections, protocol::LeadTo::little)};
}

}  // namespace skiff::runtime
