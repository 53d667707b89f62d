#pragma once

#include <memory>

#include "protocol/service/audit_log.hpp"
#include "runtime/auth/browser_guard.hpp"
#include "runtime/auth/credentials.hpp"

namespace skiff::runtime {

using protocol::service::AuditLog;

/// The credentials and the web origins that may use the agent, and the log of their requests.
struct Access {
  Authenticator authenticator;
  BrowserGuard browser_guard;
  std::unique_ptr<AuditLog> audit;  ///< null: no audit log
};

}  // namespace skiff::runtime
