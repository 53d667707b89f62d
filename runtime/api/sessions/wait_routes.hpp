#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/async/event.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/answers/answer.hpp"
#include "runtime/api/sessions/wait_request.hpp"
#include "sessions/condition.hpp"

namespace skiff::runtime::api {

/// The state of a wait for a condition; `changed` is notified when it changes.
struct Awaited {
  explicit Awaited(Executor executor) : changed{executor} {}
  [[nodiscard]] bool settled() const noexcept { return met || ended; }

  Event changed;
  bool met = false;
  bool ended = false;                    ///< the condition can no longer be met
  std::optional<Error> failure;          ///< why the condition cannot be met
  sessions::OutputPattern::Found found;  ///< result of the search for a pattern
};

/// The answer to a wait. `reason` tells why it ended if the condition is not settled.
struct AwaitedOf {
  const Awaited& awaited;
  std::string_view reason;
};
[[nodiscard]] const Answer<AwaitedOf>& wait_answer();

/// Returns the task that waits for `wanted` in `session`. It updates `awaited`, which must outlive it, when the
/// condition holds or can no longer hold. Errors: command_not_found, command_forgotten, invalid_field (a pattern),
/// those of opening the session's roots.
[[nodiscard]] Task<Result<Task<>>> await_condition(Agent* agent, std::shared_ptr<sessions::Session> session,
                                                   WaitCondition wanted, Awaited* awaited);

}  // namespace skiff::runtime::api
