#include "protocol/net/receive_budget.hpp"

#include <algorithm>
#include <utility>

namespace skiff::protocol {

ReceiveBudget::Share::Share(ReceiveBudget* budget, Terms terms, std::function<void()> lost)
    : budget_{budget}, terms_{terms}, lost_{std::move(lost)} {}

bool ReceiveBudget::Share::hold(std::size_t bytes) {
  if (is_lost_) return false;
  const std::size_t wanted = counted(bytes);
  if (budget_ == nullptr || wanted == held_) return true;
  const std::size_t missing = wanted > held_ ? budget_->missing(*this, wanted) : 0;
  if (missing > 0 && !budget_->take(missing, *this, wanted)) return false;
  set(wanted);
  return true;
}

bool ReceiveBudget::Share::hold_if_free(std::size_t bytes) {
  const std::size_t wanted = counted(bytes);
  if (wanted > held_ && budget_ != nullptr && budget_->missing(*this, wanted) > 0) return false;
  return hold(bytes);
}

void ReceiveBudget::Share::set(std::size_t counted) {
  if (counted == 0) return release();
  if (held_ == 0) {
    part_ = Shares::Part{budget_->by_holder_, who(), 0};
    since_ = std::chrono::steady_clock::now();
    place_ = budget_->holding_.insert(budget_->holding_.end(), this);
  }
  held_ = counted;
  part_.set(counted);
}

std::string_view ReceiveBudget::Share::who() const noexcept {
  if (held_ > 0) return part_.holder();
  return terms_.who != nullptr ? std::string_view{*terms_.who} : std::string_view{};
}

void ReceiveBudget::Share::release() noexcept {
  if (held_ == 0) return;
  held_ = 0;
  part_.set(0);
  budget_->holding_.erase(place_);
}

std::size_t ReceiveBudget::missing(const Share& asking, std::size_t counted) const noexcept {
  const std::size_t others = by_holder_.used() - asking.held_;
  const std::size_t all = others + counted;
  return all <= by_holder_.most() ? 0 : std::min(others, all - by_holder_.most());
}

std::vector<ReceiveBudget::Share*> ReceiveBudget::who_gives(std::size_t bytes, const Share& asking,
                                                            std::size_t counted) const {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::vector<Share*> giving;
  std::size_t found = 0;
  const auto give = [&](Share* share) {
    giving.push_back(share);
    found += share->held_;
  };
  const auto is_slow = [now](const Share& share) { return now - share.since_ >= share.terms_.patience; };
  for (Share* share : holding_) {
    if (found >= bytes) return giving;
    if (share != &asking && is_slow(*share)) give(share);
  }
  const std::string most = *by_holder_.who_has_most();
  std::size_t kept = by_holder_.of(most);
  for (const Share* share : giving) {
    if (share->who() == most) kept -= share->held_;
  }
  const bool is_own = most == asking.who();
  const std::size_t own = is_own ? 0 : by_holder_.of(asking.who()) - asking.held_;
  for (Share* share : holding_) {
    if (found >= bytes) return giving;
    if (share == &asking || is_slow(*share) || share->who() != most) continue;
    if (is_own ? share->held_ / 2 <= counted : kept / 2 <= own + counted) continue;
    kept -= share->held_;
    give(share);
  }
  return found >= bytes ? giving : std::vector<Share*>{};
}

bool ReceiveBudget::take(std::size_t bytes, const Share& asking, std::size_t counted) {
  const std::vector<Share*> giving = who_gives(bytes, asking, counted);
  for (Share* share : giving) {
    share->release();
    share->is_lost_ = true;
    share->lost_();
  }
  return !giving.empty();
}

}  // namespace skiff::protocol
