#include "base/shares.hpp"

#include <algorithm>

namespace skiff {

std::size_t Shares::of(std::string_view holder) const {
  const auto found = holders_.find(holder);
  return found == holders_.end() ? 0 : found->second;
}

bool Shares::leaves_room(std::string_view holder, std::size_t more) const {
  const std::size_t free = most_ - std::min(used_, most_);
  return more <= free && of(holder) <= free - more;
}

/// Changes the amount of one part from `before` to `after`. Returns its holder, or null if the holder has nothing left.
Shares::Holder* Shares::change(Holder* holder, std::string_view name, std::size_t before, std::size_t after) {
  if (holder == nullptr) holder = &*holders_.try_emplace(std::string{name}, 0).first;
  auto place = ordered_.extract(holder);
  holder->second += after - before;
  used_ += after - before;
  if (holder->second == 0) {
    holders_.erase(holders_.find(holder->first));
    return nullptr;
  }
  if (place) {
    ordered_.insert(std::move(place));
  } else {
    ordered_.insert(holder);
  }
  return after == 0 ? nullptr : holder;
}

Shares::Part::Part(Shares& of, std::string_view holder, std::size_t amount) : of_{&of}, name_{holder} {
  set(amount);
}

Shares::Part::Part(Part&& other) noexcept
    : of_{std::exchange(other.of_, nullptr)},
      holder_{std::exchange(other.holder_, nullptr)},
      name_{std::move(other.name_)},
      amount_{std::exchange(other.amount_, 0)} {}

Shares::Part& Shares::Part::operator=(Part&& other) noexcept {
  if (this == &other) return *this;
  set(0);
  of_ = std::exchange(other.of_, nullptr);
  holder_ = std::exchange(other.holder_, nullptr);
  name_ = std::move(other.name_);
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

void Shares::Part::set(std::size_t amount) {
  if (amount == amount_) return;
  holder_ = of_->change(holder_, name_, amount_, amount);
  amount_ = amount;
}

}  // namespace skiff
