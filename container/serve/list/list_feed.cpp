#include "container/serve/list/list_feed.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/id.hpp"

namespace skiff::container::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long a look is current where the driver notices changes.
constexpr milliseconds kCurrent{1'000};
/// The share of the time that looks may take: one part of five.
constexpr int kPartsOfRest = 4;
constexpr milliseconds kLongestRest{5'000};

std::size_t size_of(const ListEvent& event) {
  return sizeof event + (event.sandbox ? event.sandbox->json.size() : 0);
}

}  // namespace

ListFeed::ListFeed(Executor executor, Fleet* fleet, std::string tenant, Show show, Limits limits)
    : fleet_{fleet},
      tenant_{std::move(tenant)},
      show_{std::move(show)},
      limits_{limits},
      name_{new_id("l")},
      changed_{executor},
      wake_{executor} {}

Task<> ListFeed::run(milliseconds linger) {
  // However it ends, no reader waits for what never comes.
  struct End {
    ListFeed* feed;
    ~End() {
      feed->is_over_ = true;
      feed->watch_.reset();
      feed->changed_.notify_all();
    }
  } const end{this};
  while (co_await await_reader(linger)) {
    co_await look();
    co_await rest();
  }
}

void ListFeed::enter() {
  ++readers_;
  if (!is_current()) mark();
  wake_.notify_all();
}

void ListFeed::leave() {
  --readers_;
  wake_.notify_all();
}

void ListFeed::mark() {
  is_marked_ = true;
  wake_.notify_all();
}

bool ListFeed::is_current() const {
  return has_looked_ && !is_marked_ && !trouble_ && watch_ && watch_->sees_all() &&
         steady_clock::now() - looked_at_ < kCurrent;
}

Task<Result<>> ListFeed::await_current() {
  const SteadyTime asked = steady_clock::now();
  while (!is_over_ && !is_current() && looked_at_ < asked) co_await changed_.wait();
  if (is_over_) co_return fail(Errc::draining, "the list is not read any more");
  if (trouble_) co_return std::unexpected{*trouble_};
  co_return Result<>{};
}

Task<> ListFeed::wait_until(SteadyTime until) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  Deadline late{executor, [this] { wake_.notify_all(); }};
  late.expires_at(until);
  co_await wake_.wait();
}

Task<bool> ListFeed::await_reader(milliseconds linger) {
  const SteadyTime until = steady_clock::now() + linger;
  while (readers_ == 0) {
    if (steady_clock::now() >= until) co_return false;
    co_await wait_until(until);
  }
  co_return true;
}

milliseconds ListFeed::usual_pause() const {
  return watch_ && watch_->sees_all() && !is_creating_ && !trouble_ ? limits_.look_anyway : limits_.look_for_changes;
}

Task<> ListFeed::rest() {
  const SteadyTime now = steady_clock::now();
  const milliseconds share = std::chrono::ceil<milliseconds>(took_ * kPartsOfRest);
  const SteadyTime earliest = now + std::clamp(share, limits_.between_looks, kLongestRest);
  const SteadyTime latest = std::max(earliest, now + usual_pause());
  while (readers_ > 0) {
    const SteadyTime until = is_marked_ ? earliest : latest;
    if (steady_clock::now() >= until) break;
    co_await wait_until(until);
  }
}

Task<> ListFeed::look() {
  const SteadyTime began = steady_clock::now();
  is_marked_ = false;
  if (!watch_) {
    auto watch = co_await fleet_->watch_list(tenant_, [this] { mark(); });
    if (watch) watch_ = std::move(*watch);
  }
  auto found = co_await fleet_->all(tenant_);
  if (found) {
    take(*found);
    if (std::exchange(trouble_, nullptr)) note({.kind = ListEvent::Kind::available});
  } else if (!trouble_) {
    trouble_ = std::make_shared<const Error>(std::move(found.error()));
    note({.kind = ListEvent::Kind::unavailable, .trouble = trouble_});
  }
  looked_at_ = began;
  took_ = steady_clock::now() - began;
  changed_.notify_all();
}

void ListFeed::take(const std::vector<Sandbox>& found) {
  using Kind = ListEvent::Kind;
  auto before = std::exchange(sandboxes_, {});
  is_creating_ = false;
  for (const Sandbox& one : found) {
    is_creating_ = is_creating_ || one.state == SandboxState::creating;
    auto now = std::make_shared<const Listed>(
        Listed{.id = one.name, .uid = one.id, .owner = own_label(one, kOwnerLabel), .json = show_(one)});
    const auto known = before.find(one.name);
    std::shared_ptr<const Listed> was;
    if (known != before.end()) was = std::move(before.extract(known).mapped());
    const bool is_another = was && was->uid != now->uid;
    if (was && !is_another && was->json == now->json) now = was;
    if (is_another) note({.kind = Kind::removed, .sandbox = was});
    if (!was || is_another) {
      note({.kind = Kind::added, .sandbox = now});
    } else if (now != was) {
      note({.kind = Kind::changed, .sandbox = now});
    }
    sandboxes_.emplace(one.name, std::move(now));
  }
  for (auto& [id, was] : before) note({.kind = Kind::removed, .sandbox = std::move(was)});
  has_looked_ = true;
}

void ListFeed::note(ListEvent event) {
  // The first look finds what was there before.
  if (!has_looked_ && event.sandbox) return;
  bytes_ += size_of(event);
  events_.push_back(std::move(event));
  while (events_.size() > limits_.most_events || bytes_ > limits_.most_bytes) {
    bytes_ -= size_of(events_.front());
    events_.pop_front();
    ++forgotten_;
  }
}

std::vector<std::shared_ptr<const Listed>> ListFeed::all() const {
  std::vector<std::shared_ptr<const Listed>> all;
  all.reserve(sandboxes_.size());
  for (const auto& [id, one] : sandboxes_) all.push_back(one);
  return all;
}

}  // namespace skiff::container::serve
