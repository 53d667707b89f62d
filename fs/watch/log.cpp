#include "fs/watch/log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skiff::fs {
namespace {

constexpr std::size_t kMostWaiting = 4096;

}  // namespace

WatchLog::WatchLog(std::size_t most, std::uint64_t first)
    : most_{std::max<std::size_t>(most, 1)}, next_{std::max<std::uint64_t>(first, 1)} {}

void WatchLog::add(WatchEvent event) {
  if (event.type == WatchEvent::Type::modified) {
    if (!modified_.insert(event.path).second) return;
  } else {
    modified_.erase(event.path);
    if (!event.from.empty()) modified_.erase(event.from);
  }
  waiting_.push_back({std::move(event), std::nullopt, {}});
  flush();
}

void WatchLog::end_batch() {
  modified_.clear();
}

void WatchLog::hold(std::uint32_t cookie, WatchEvent deleted, Clock::time_point until) {
  modified_.erase(deleted.path);
  waiting_.push_back({std::move(deleted), cookie, until});
}

bool WatchLog::pair(std::uint32_t cookie, const std::string& path) {
  const auto slot = std::ranges::find(waiting_, std::optional{cookie}, &Slot::cookie);
  if (slot == waiting_.end()) return false;
  modified_.erase(path);
  slot->event.type = WatchEvent::Type::renamed;
  slot->event.from = std::exchange(slot->event.path, path);
  slot->cookie.reset();
  take_back(slot, slot->event.from);
  flush();
  return true;
}

/// Corrects the events behind the move of a directory that still have its old path, up to the event where another
/// object takes that path. They get the new path, or are dropped if the directory is out of sight.
void WatchLog::take_back(const std::deque<Slot>::iterator& moved, const std::string& old_path) {
  if (!moved->event.is_directory) return;
  const std::string inside = old_path + '/';
  const bool in_sight = moved->event.type == WatchEvent::Type::renamed;
  const std::string new_inside = moved->event.path + '/';
  auto end = std::next(moved);
  while (end != waiting_.end() && end->event.path != old_path) ++end;
  std::deque<Slot> kept;
  for (auto slot = std::next(moved); slot != end; ++slot) {
    if (!slot->event.path.starts_with(inside)) {
      kept.push_back(std::move(*slot));
    } else if (in_sight) {
      slot->event.path.replace(0, inside.size(), new_inside);
      kept.push_back(std::move(*slot));
    }
  }
  const auto from = std::ranges::move(kept, std::next(moved)).out;
  waiting_.erase(from, end);
}

void WatchLog::give_up(std::uint32_t cookie) {
  const auto slot = std::ranges::find(waiting_, std::optional{cookie}, &Slot::cookie);
  if (slot == waiting_.end()) return;
  slot->cookie.reset();
  take_back(slot, slot->event.path);
  flush();
}

void WatchLog::forget(std::uint32_t cookie) {
  std::erase_if(waiting_, [cookie](const Slot& slot) { return slot.cookie == cookie; });
  flush();
}

std::vector<std::uint32_t> WatchLog::expire(Clock::time_point now) {
  std::vector<std::uint32_t> expired;
  const bool full = waiting_.size() > kMostWaiting;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    Slot& slot = waiting_[i];
    if (!slot.cookie || (slot.until > now && !full)) continue;
    expired.push_back(*slot.cookie);
    slot.cookie.reset();
    take_back(waiting_.begin() + static_cast<std::ptrdiff_t>(i), slot.event.path);
  }
  flush();
  return expired;
}

std::optional<WatchLog::Clock::time_point> WatchLog::deadline() const {
  // The first half that waits was held first, so its time ends first.
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().until;
}

void WatchLog::flush() {
  while (!waiting_.empty() && !waiting_.front().cookie) {
    kept_.push_back(std::move(waiting_.front().event));
    kept_.back().cursor = next_++;
    waiting_.pop_front();
    if (kept_.size() > most_) kept_.pop_front();
  }
}

std::vector<WatchEvent> WatchLog::after(std::uint64_t cursor, std::size_t most) const {
  std::vector<WatchEvent> events;
  if (most == 0) return events;
  const std::uint64_t oldest = next_ - kept_.size();
  if (cursor > newest()) {
    events.push_back({.type = WatchEvent::Type::overflow, .cursor = newest()});
    return events;
  }
  if (cursor + 1 < oldest) {
    events.push_back({.type = WatchEvent::Type::overflow, .cursor = oldest - 1});
    cursor = oldest - 1;
  }
  for (std::size_t i = static_cast<std::size_t>(cursor + 1 - oldest); i < kept_.size() && events.size() < most; ++i) {
    events.push_back(kept_[i]);
  }
  return events;
}

}  // namespace skiff::fs
