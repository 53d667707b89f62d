#include "container/serve/list/list_feeds.hpp"

#include <utility>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"

namespace skiff::container::serve {

ListFeeds::ListFeeds(Executor executor, Fleet* fleet, ListFeed::Show show, ListFeed::Limits limits)
    : executor_{executor}, fleet_{fleet}, show_{std::move(show)}, limits_{limits}, tasks_{executor} {}

ListFeeds::Reader ListFeeds::join(const std::string& tenant) {
  std::shared_ptr<ListFeed>& feed = feeds_[tenant];
  if (!feed || feed->is_over()) {
    feed = std::make_shared<ListFeed>(executor_, fleet_, tenant, show_, limits_);
    // `feed` is an element, which the task may remove.
    const auto kept = feed;
    tasks_.spawn("list of a tenant", serve(this, tenant, kept));
    return Reader{kept};
  }
  return Reader{feed};
}

Task<> ListFeeds::tick(ListFeed* feed) {
  for (;;) {
    co_await pause(kTick);
    feed->changed().notify_all();
  }
}

Task<> ListFeeds::serve(ListFeeds* self, std::string tenant, std::shared_ptr<ListFeed> feed) {
  co_await run_beside(tick(feed.get()), feed->run(kLinger));
  const auto known = self->feeds_.find(tenant);
  if (known != self->feeds_.end() && known->second == feed) self->feeds_.erase(known);
}

void ListFeeds::drain() {
  draining_ = true;
  for (const auto& [tenant, feed] : feeds_) feed->changed().notify_all();
}

Task<> ListFeeds::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  feeds_.clear();
}

}  // namespace skiff::container::serve
