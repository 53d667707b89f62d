#include "base/fair_turnstile.hpp"

#include <algorithm>
#include <utility>

namespace skiff {

Task<FairTurnstile::Place> FairTurnstile::enter(std::string who) {
  if (holders_.size() >= swept_at_) swept_at_ = 2 * std::max<std::size_t>(holders(), 32);
  std::weak_ptr<Turnstile>& known = holders_[std::move(who)];
  std::shared_ptr<Turnstile> holder = known.lock();
  if (!holder) known = holder = std::make_shared<Turnstile>(executor_, of_one_);
  auto of_holder = co_await holder->enter();
  auto of_all = co_await all_.enter();
  co_return Place{.holder = std::move(holder), .of_holder = std::move(of_holder), .of_all = std::move(of_all)};
}

std::size_t FairTurnstile::holders() {
  std::erase_if(holders_, [](const auto& one) { return one.second.expired(); });
  return holders_.size();
}

}  // namespace skiff
