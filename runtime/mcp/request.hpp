#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/mcp/clients.hpp"
#include "runtime/mcp/message.hpp"

namespace skiff::runtime::mcp {

/// A request while a method handles it: the message, its caller, and the job that answers it. It may outlive the HTTP
/// request that brought it.
struct Request {
  Agent& agent;
  Clients& clients;
  api::Caller caller;
  Message message;
  Revision revision = kNewestWithHandshake;
  std::shared_ptr<Client> client = {};  ///< null from 2026-07-28 on: these revisions have no sessions
  std::shared_ptr<Job> job = {};

  [[nodiscard]] bool is_stateless() const noexcept { return revision >= Revision::v2026_07_28; }

  /// The agent's session with this id; without an id, the credential's own session or the default one. Errors:
  /// session_not_found, insufficient_scope.
  [[nodiscard]] Result<std::shared_ptr<sessions::Session>> session(const std::optional<std::string>& id) const {
    const std::string& own = caller.identity.session ? *caller.identity.session : kDefault;
    const std::string& wanted = id ? *id : own;
    SKIFF_TRY_VOID(require_session(caller.identity, wanted));
    return agent.registry.find(wanted);
  }

 private:
  static inline const std::string kDefault{sessions::Registry::kDefault};
};

}  // namespace skiff::runtime::mcp
