#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::serve {

/// The error for a key that has reached its limit of sandboxes.
[[nodiscard]] Error too_many_sandboxes(const ApiKey& key);

/// Enforces the limits of API keys. The records say how many sandboxes run; starts that are under way in this process
/// are added, so that concurrent creations do not all get the last permit. Each process counts creations per minute for
/// itself. Reactor thread only; it must outlive its permits.
class Admission {
  struct State;

 public:
  /// A sandbox that is being created or started. It is counted until this object is destroyed.
  class Permit {
   public:
    Permit(Permit&&) noexcept = default;
    Permit& operator=(Permit&&) = delete;
    ~Permit();

   private:
    friend class Admission;
    Permit(std::shared_ptr<State> state, std::string id) : state_{std::move(state)}, id_{std::move(id)} {}
    std::shared_ptr<State> state_;
    std::string id_;
  };

  /// Takes a permit for a sandbox. `running` are the ids of the key's running sandboxes. `too_many_sandboxes` if all
  /// permits are taken; `retry_after` says when to try again.
  [[nodiscard]] Result<Permit> enter(const ApiKey& key, const std::string& id, std::set<std::string> running);
  /// Counts a creation at `now`, or refuses it with the same error.
  [[nodiscard]] Result<> count_creation(const ApiKey& key, SteadyTime now);
  /// Takes back the last creation, which has failed.
  void forget_creation(const ApiKey& key);

  /// Retry time after a refusal by number, because the next end of a sandbox is unknown.
  static constexpr std::chrono::seconds kRetry{5};
  /// How long to wait before trying again.
  [[nodiscard]] std::chrono::seconds retry_after(const ApiKey& key, SteadyTime now) const;

 private:
  struct State {
    std::multiset<std::string> under_way;  ///< a multiset, because two requests may work on one sandbox
    std::deque<SteadyTime> creations;      ///< creations of the last minute
  };
  std::map<std::string, std::shared_ptr<State>> keys_;
  [[nodiscard]] std::shared_ptr<State>& state_of(const ApiKey& key);
};

}  // namespace skiff::container::serve
