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

/// What a key is told that has as many as it may have.
[[nodiscard]] Error too_many_sandboxes(const ApiKey& key);

/// The limits of API keys. How many sandboxes run is known by their records; what is under way here comes on top, so
/// that creations at the same time don't all find the last place. Creations a minute are counted by each process for
/// itself. Reactor thread only; it must outlive its places.
class Admission {
  struct State;

 public:
  /// A sandbox that is being made or started. It is counted until this goes away.
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

  /// `running`: the ids of those that the key has now. `too_many_sandboxes` otherwise, and `retry_after` says when to
  /// ask again.
  [[nodiscard]] Result<Place> enter(const ApiKey& key, const std::string& id, std::set<std::string> running);
  /// Counts a creation of now, or refuses it in the same way.
  [[nodiscard]] Result<> count_creation(const ApiKey& key, SteadyTime now);
  /// Nothing came of the last one.
  void forget_creation(const ApiKey& key);

  /// Of a refusal by number, as nobody knows when one ends.
  static constexpr std::chrono::seconds kRetry{5};
  /// How long after `now` it is of use to ask again.
  [[nodiscard]] std::chrono::seconds retry_after(const ApiKey& key, SteadyTime now) const;

 private:
  struct State {
    std::multiset<std::string> under_way;  ///< two requests may work on one sandbox
    std::deque<SteadyTime> creations;      ///< of the last minute
  };
  std::map<std::string, std::shared_ptr<State>> keys_;
  [[nodiscard]] std::shared_ptr<State>& state_of(const ApiKey& key);
};

}  // namespace skiff::container::serve
