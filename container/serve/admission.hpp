#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/api_key.hpp"

namespace skiff::container::serve {

/// The error for a key that has reached its limit of sandboxes.
[[nodiscard]] Error too_many_sandboxes(const ApiKey& key);

/// Enforces the limits of API keys. The records say how many sandboxes run; starts that are under way in this process
/// are added, so that concurrent creations do not all get the last place. Each process counts creations per minute for
/// itself. Reactor thread only; it must outlive its places.
class Admission {
  struct State;

 public:
  /// A sandbox that is being created or started. It is counted until this object is destroyed.
  class Place {
   public:
    Place(Place&&) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend class Admission;
    Place(std::shared_ptr<State> state, std::string id) : state_{std::move(state)}, id_{std::move(id)} {}
    std::shared_ptr<State> state_;
    std::string id_;
  };

  /// Takes a place for a sandbox. `running` are the ids of the key's running sandboxes. `too_many_sandboxes` if all
  /// places are taken; `retry_after` says when to try again.
  [[nodiscard]] Result<Place> enter(const ApiKey& key, const std::string& id, std::set<std::string> running);
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
