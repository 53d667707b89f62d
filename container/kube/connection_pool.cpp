#include "container/kube/connection_pool.hpp"

#include <utility>

namespace skiff::kube {

ConnectionPool::ConnectionPool(Executor executor, std::size_t most, Make make)
    : executor_{executor}, most_{most}, make_{std::move(make)} {
  idle_.reserve(most);
}

ConnectionPool::~ConnectionPool() = default;

Task<ConnectionPool::Lease> ConnectionPool::lease() {
  // Callers that are already waiting go first.
  if (in_use_ >= most_ || !waiting_.empty()) {
    const auto place = waiting_.emplace(waiting_.end(), executor_);
    // Runs also when this wait is cancelled: the next caller must not miss its turn.
    const struct Leave {
      ConnectionPool* pool;
      std::list<Event>::iterator place;
      ~Leave() {
        pool->waiting_.erase(place);
        pool->wake_next();
      }
    } leave{this, place};
    while (in_use_ >= most_ || place != waiting_.begin()) co_await place->wait();
    ++in_use_;
  } else {
    ++in_use_;
  }
  std::unique_ptr<protocol::HttpClient> client;
  if (idle_.empty()) {
    client = make_();
  } else {
    client = std::move(idle_.back());
    idle_.pop_back();
  }
  co_return Lease{this, std::move(client), generation_};
}

void ConnectionPool::wake_next() noexcept {
  if (in_use_ < most_ && !waiting_.empty()) waiting_.front().notify_all();
}

void ConnectionPool::give_back(std::unique_ptr<protocol::HttpClient> client, unsigned generation) noexcept {
  --in_use_;
  if (client && generation == generation_) idle_.push_back(std::move(client));
  wake_next();
}

void ConnectionPool::renew() noexcept {
  ++generation_;
  idle_.clear();
}

ConnectionPool::Lease::~Lease() {
  if (!pool_) return;
  if (!keep_) client_.reset();
  pool_->give_back(std::move(client_), generation_);
}

}  // namespace skiff::kube
