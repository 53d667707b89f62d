#pragma once

#include <memory>

#include "runtime/auth/audit_log.hpp"
#include "runtime/auth/browser_guard.hpp"
#include "runtime/auth/credentials.hpp"

namespace skiff::runtime {

/// Who may use the agent, from which pages, and where it is written down.
struct Access {
  Authenticator authenticator;
  BrowserGuard browser_guard;
  std::unique_ptr<AuditLog> audit;  ///< may be null
};

}  // namespace skiff::runtime
