#include "protocol/http/body_budget.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skiff::protocol {

BodyBudget::Share::Share(BodyBudget* budget, std::chrono::milliseconds patience, std::function<void()> lost)
    : budget_{budget}, patience_{patience}, lost_{std::move(lost)} {}

bool BodyBudget::Share::grow_to(std::size_t bytes) {
  if (is_lost_) return false;
  const std::size_t counted = bytes - std::min(bytes, kFree);
  if (budget_ == nullptr || counted <= held_) return true;
  const std::size_t others = budget_->held_ - held_;
  if (others > 0 && others + counted > budget_->most_ &&
      !budget_->take_from_slow(std::min(others, others + counted - budget_->most_), *this)) {
    return false;
  }
  if (held_ == 0) {
    since_ = std::chrono::steady_clock::now();
    place_ = budget_->holders_.insert(budget_->holders_.end(), this);
  }
  budget_->held_ += counted - held_;
  held_ = counted;
  return true;
}

void BodyBudget::Share::release() noexcept {
  if (held_ == 0) return;
  budget_->held_ -= std::exchange(held_, 0);
  budget_->holders_.erase(place_);
}

bool BodyBudget::take_from_slow(std::size_t bytes, const Share& asking) {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::vector<Share*> slow;
  std::size_t found = 0;
  for (Share* share : holders_) {
    if (found >= bytes) break;
    if (share == &asking || now - share->since_ < share->patience_) continue;
    slow.push_back(share);
    found += share->held_;
  }
  if (found < bytes) return false;
  for (Share* share : slow) {
    share->release();
    share->is_lost_ = true;
    share->lost_();
  }
  return true;
}

}  // namespace skiff::protocol
