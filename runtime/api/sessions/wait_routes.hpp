#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/event.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/sessions/wait_request.hpp"

namespace skiff::runtime::api {

/// What becomes of a wait for a condition. Whoever waits looks at it again whenever `changed` is notified.
struct Awaited {
  explicit Awaited(Executor executor) : changed{executor} {}
  [[nodiscard]] bool settled() const noexcept { return met || ended; }

  Event changed;
  bool met = false;
  bool ended = false;            ///< it can't be met any more
  std::optional<Error> failure;  ///< why it can't be met
  std::string detail;            ///< further members of the answer
};

/// The wait for `wanted` in `session`: it writes into `awaited`, which must outlive it, when that holds or can't hold
/// any more. Errors: command_not_found, command_forgotten, invalid_field (a pattern), those of opening the session's
/// roots.
[[nodiscard]] Task<Result<Task<>>> await_condition(Agent* agent, std::shared_ptr<sessions::Session> session,
                                                   WaitCondition wanted, Awaited* awaited);

/// {"met":...,"reason"?,"match"?,"next"?}. `reason` says why the wait is over when the condition is not settled.
[[nodiscard]] std::string awaited_text(const Awaited& awaited, std::string_view reason);

}  // namespace skiff::runtime::api
