#include "container/drivers/pods/turns/pool_turns.hpp"

#include <algorithm>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Pause before a Pod that fills a pool, or the first of a line, looks again whether it may start: time passes without
/// an event.
constexpr milliseconds kBetweenLooks{100};

}  // namespace

PoolTurns::PoolTurns(WatchedObjects* watched, Executor executor)
    : executor_{executor},
      pods_{&watched->pods()},
      members_{pods_},
      starts_{pods_},
      listening_{watched->watch([this] { wake_the_first(); })} {}

void PoolTurns::wake_the_first() const {
  for (const auto& [pool, line] : lines_) line.front()->wake();
}

bool PoolTurns::is_full(const std::string& pool) const {
  const auto line = lines_.find(pool);
  return line != lines_.end() && line->second.size() >= kLongestLine;
}

// --- a place in a line --------------------------------------------------------------------------------------------

PoolTurns::Place::Place(PoolTurns* turns, std::string pool, milliseconds has)
    : turns_{turns},
      pool_{std::move(pool)},
      until_{steady_clock::now() + std::min<milliseconds>(kLongestWait, has / 2)},
      woken_{turns->executor_} {
  turns_->lines_[pool_].push_back(this);
}

void PoolTurns::Place::wake() {
  ++wakes_;
  woken_.notify_all();
}

Task<bool> PoolTurns::Place::next_wake(std::size_t seen) {
  while (wakes_ == seen) co_await woken_.wait();
  co_return true;
}

bool PoolTurns::Place::is_first() const {
  return turns_->lines_.at(pool_).front() == this;
}

void PoolTurns::Place::leave() {
  if (!std::exchange(is_in_line_, false)) return;
  const auto line = turns_->lines_.find(pool_);
  line->second.remove(this);
  if (line->second.empty()) {
    turns_->lines_.erase(line);
  } else {
    line->second.front()->wake();
  }
}

void PoolTurns::Place::come_back() {
  is_in_line_ = true;
  turns_->lines_[pool_].push_front(this);
}

Task<std::optional<FreeMembers::Held>> PoolTurns::Place::turn() {
  std::optional<FreeMembers::Held> held;
  for (;;) {
    const std::size_t seen = wakes_;
    const bool is_next = is_first();
    if (auto next = is_next ? turns_->members_.next(pool_) : std::nullopt) held.emplace(std::move(*next));
    const SteadyTime now = steady_clock::now();
    const bool may_start = is_next && !turns_->members_.has_others(pool_) && turns_->starts_.has_room();
    if (held || now >= until_ || may_start) break;
    const SteadyTime look = is_next ? std::min(until_, now + kBetweenLooks) : until_;
    (void)co_await within(look, next_wake(seen));
  }
  leave();
  co_return held;
}

// --- Pods that start ----------------------------------------------------------------------------------------------

PoolTurns::Taking::Taking(PoolTurns* turns) : turns_{turns} {
  if (turns_->is_quiet()) turns_->first_take_ = steady_clock::now();
  ++turns_->takes_;
}

PoolTurns::Taking::~Taking() {
  --turns_->takes_;
  turns_->last_take_ = steady_clock::now();
}

std::unique_ptr<PodStarts::Permit> PoolTurns::start(std::string name) {
  return std::make_unique<PodStarts::Permit>(&starts_, std::move(name));
}

bool PoolTurns::is_quiet() const {
  return takes_ == 0 && steady_clock::now() - last_take_ >= kQuiet;
}

bool PoolTurns::may_refill(const std::string& pool, unsigned size) {
  if (is_in_a_hurry_) return true;
  if (!lines_.empty()) return false;
  if (is_quiet()) return starts_.has_room();
  const bool is_half_empty = 2 * pods_->group(pool).size() < size;
  const bool is_a_burst = steady_clock::now() - first_take_ < kBurst;
  return is_half_empty && !is_a_burst && starts_.has_room(PodStarts::kEachBusyNode);
}

Task<std::unique_ptr<PodStarts::Permit>> PoolTurns::refill(std::string pool, unsigned size, std::string name) {
  while (!may_refill(pool, size)) co_await pause(kBetweenLooks);
  co_return start(std::move(name));
}

}  // namespace skiff::container
