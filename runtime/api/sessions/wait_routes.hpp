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

/// What becomes of a wait for a condition. Whoever waits looks at it again whenever `changed` is notified.
struct Awaited {
  explicit Awaited(Executor executor) : changed{executor} {}
  [[nodiscard]] bool settled() const noexcept { return met || ended; }

  Event changed;
  bool met = false;
  bool ended = false;                    ///< it can't be met any more
  std::optional<Error> failure;          ///< why it can't be met
  sessions::OutputPattern::Found found;  ///< what a pattern has found, where one was searched
};

/// What is answered about a wait. `reason` says why it is over when the condition is not settled.
struct AwaitedOf {
  const Awaited& awaited;
  std::string_view reason;
};
[[nodiscard]] const Answer<AwaitedOf>& wait_answer();

/// The wait for `wanted` in `session`: it writes into `awaited`, which must outlive it, when that holds or can't hold
/// any more. Errors: command_not_found, command_forgotten, invalid_field (a pattern), those of opening the session's
/// roots.
[[nodiscard]] Task<Result<Task<>>> await_condition(Agent* agent, std::shared_ptr<sessions::Session> session,
                                                   WaitCondition wanted, Awaited* awaited);

}  // namespace skiff::runtime::api
