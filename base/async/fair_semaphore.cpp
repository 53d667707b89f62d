#include "base/async/fair_semaphore.hpp"

#include <algorithm>
#include <utility>

namespace skiff {

Task<FairSemaphore::Permit> FairSemaphore::acquire(std::string who) {
  if (holders_.size() >= swept_at_) swept_at_ = 2 * std::max<std::size_t>(holders(), 32);
  std::weak_ptr<Semaphore>& known = holders_[std::move(who)];
  std::shared_ptr<Semaphore> holder = known.lock();
  if (!holder) known = holder = std::make_shared<Semaphore>(executor_, of_one_);
  auto of_holder = co_await holder->acquire();
  auto of_all = co_await all_.acquire();
  co_return Permit{.holder = std::move(holder), .of_holder = std::move(of_holder), .of_all = std::move(of_all)};
}

std::size_t FairSemaphore::holders() {
  std::erase_if(holders_, [](const auto& one) { return one.second.expired(); });
  return holders_.size();
}

}  // namespace skiff
