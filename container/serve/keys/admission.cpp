#include "container/serve/keys/admission.hpp"

#include <algorithm>
#include <utility>

namespace skiff::container::serve {

Error too_many_sandboxes(const ApiKey& key) {
  return {.code = Errc::too_many_sandboxes,
          .message = "this API key may have " + std::to_string(key.max_sandboxes) + " sandboxes at the same time"};
}

Admission::Permit::~Permit() {
  if (state_) state_->under_way.erase(state_->under_way.find(id_));
}

std::shared_ptr<Admission::State>& Admission::state_of(const ApiKey& key) {
  auto& state = keys_[key.sha256];
  if (!state) state = std::make_shared<State>();
  return state;
}

Result<Admission::Permit> Admission::enter(const ApiKey& key, const std::string& id, std::set<std::string> running) {
  auto& state = state_of(key);
  running.insert(state->under_way.begin(), state->under_way.end());
  running.erase(id);
  if (key.max_sandboxes != 0 && running.size() >= key.max_sandboxes) {
    return std::unexpected{too_many_sandboxes(key)};
  }
  state->under_way.insert(id);
  return Permit{state, id};
}

Result<> Admission::count_creation(const ApiKey& key, SteadyTime now) {
  if (key.creations_per_minute == 0) return {};
  auto& creations = state_of(key)->creations;
  while (!creations.empty() && now - creations.front() >= std::chrono::minutes{1}) creations.pop_front();
  if (creations.size() >= key.creations_per_minute) {
    return fail(Errc::too_many_sandboxes,
                "this API key may create " + std::to_string(key.creations_per_minute) + " sandboxes per minute");
  }
  creations.push_back(now);
  return {};
}

void Admission::forget_creation(const ApiKey& key) {
  auto& creations = state_of(key)->creations;
  if (!creations.empty()) creations.pop_back();
}

std::chrono::seconds Admission::retry_after(const ApiKey& key, SteadyTime now) const {
  const auto found = keys_.find(key.sha256);
  if (found == keys_.end() || key.creations_per_minute == 0) return kRetry;
  const auto& creations = found->second->creations;
  if (creations.size() < key.creations_per_minute) return kRetry;
  const auto left = creations.front() + std::chrono::minutes{1} - now;
  return std::max(std::chrono::ceil<std::chrono::seconds>(left), std::chrono::seconds{1});
}

}  // namespace skiff::container::serve
