#include "container/serve/keys/key_store.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"
#include "base/async/with_timeout.hpp"
#include "base/log/log.hpp"

namespace skiff::container::serve {

Task<> KeyCache::begin_reading() {
  if (reading_) co_return;
  const Executor executor = co_await boost::asio::this_coro::executor;
  if (!tasks_) tasks_.emplace(executor);
  reading_ = std::make_shared<Event>(executor);
  reading_since_ = std::chrono::steady_clock::now();
  tasks_->spawn("read the API keys", read());
}

Task<> KeyCache::read() {
  // However the reading ends, the waiting requests go on.
  const auto end = [this](Event* event) {
    reading_.reset();
    event->notify_all();
  };
  const auto kept = reading_;
  const std::unique_ptr<Event, decltype(end)> ending{kept.get(), end};
  const SteadyTime began = reading_since_;
  auto ring = co_await store_->read();
  read_at_ = began;
  failure_.reset();
  if (ring) {
    ring_ = std::make_shared<const KeyRing>(std::move(*ring));
    co_return;
  }
  failure_ = std::move(ring.error());
  log::warning("the API keys cannot be read: the server keeps the last ones", {{"error", failure_->message}});
}

Task<bool> KeyCache::reading_ended() {
  const auto one = reading_;
  while (one && reading_ == one) co_await one->wait();
  co_return true;
}

Task<> KeyCache::stop() {
  if (!tasks_) co_return;
  tasks_->cancel();
  co_await tasks_->join();
}

Task<Result<std::shared_ptr<const KeyRing>>> KeyCache::current() {
  const SteadyTime asked = std::chrono::steady_clock::now();
  while (asked - read_at_ >= kFresh || (!ring_ && read_at_ < asked)) {
    co_await begin_reading();
    if (!ring_) {
      co_await reading_ended();
    } else if (!co_await within(reading_since_ + kPatience, reading_ended())) {
      break;  // a host that does not answer must not delay clients with a known key
    }
  }
  if (!ring_) co_return std::unexpected{*failure_};
  co_return ring_;
}

Task<Result<std::set<std::string>>> KeyCache::tenants() {
  SKIFF_CO_TRY(auto ring, co_await current());
  std::set<std::string> all;
  if (accounts_ != nullptr) all = accounts_->tenants();
  for (const ApiKey& key : ring->keys) all.insert(key.tenant);
  co_return all;
}

Task<bool> KeyCache::holds(ApiKey key) {
  const WallTime now = wall_now();
  if (key.has_ended(now)) co_return false;
  if (key.name.starts_with(kAccountPrefix)) co_return true;
  auto ring = co_await current();
  if (!ring) co_return true;
  co_return std::ranges::any_of((*ring)->keys,
                                [&](const ApiKey& one) { return one.sha256 == key.sha256 && !one.has_ended(now); });
}

Task<Result<ApiKey>> KeyCache::find(std::string presented, std::string source) {
  if (accounts_ != nullptr && is_signed_token(presented)) {
    co_return co_await accounts_->find(std::move(presented), std::move(source));
  }
  const SteadyTime asked = std::chrono::steady_clock::now();
  SKIFF_CO_TRY(auto ring, co_await current());
  auto key = find_key(*ring, presented, wall_now());
  if (key || (read_at_ >= asked && !failure_)) co_return key;
  // A reading that began earlier may have missed the key.
  while (read_at_ < asked) {
    Timer timer{co_await boost::asio::this_coro::executor};
    timer.expires_at(read_at_ + kBetweenMisses);
    co_await timer.async_wait(use_task);
    if (read_at_ >= asked) break;
    co_await begin_reading();
    if (!co_await within(asked + kPatience, reading_ended())) break;
  }
  if (read_at_ >= asked && !failure_) co_return find_key(*ring_, presented, wall_now());
  co_return fail(Errc::cluster_unavailable, "the API keys cannot be read now, and yours is not among those known");
}

}  // namespace skiff::container::serve
