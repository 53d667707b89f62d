#include "fs/watch/shared_watches.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace asio = boost::asio;

DirectoryWatch::DirectoryWatch(Watch watch, Executor executor, BlockingPool* pool)
    : pool_{pool},
      watch_{std::move(watch)},
      newest_{watch_.newest()},
      ready_{executor, ::fcntl(watch_.fd(), F_DUPFD_CLOEXEC, 0)},
      held_{executor, [this] { ready_.cancel(); }},
      changed_{executor} {}

DirectoryWatch::~DirectoryWatch() {
  boost::system::error_code ignored;
  ready_.close(ignored);  // closed first, so that the pool closes the last descriptor
  pool_->post([over = std::move(watch_)] {});
}

Task<Result<std::vector<WatchEvent>>> DirectoryWatch::events(std::shared_ptr<DirectoryWatch> self, std::uint64_t cursor,
                                                             std::size_t most, SteadyTime until) {
  Deadline limit{co_await asio::this_coro::executor, [&watch = *self] { watch.wake(); }};
  for (bool waited = false;; waited = true) {
    while (self->draining_) co_await self->changed_.wait();
    auto found = self->watch_.after(cursor, most);
    if (!found.empty()) co_return found;
    if (self->over_ && self->failure_) co_return std::unexpected{*self->failure_};
    const auto now = std::chrono::steady_clock::now();
    if (waited || self->over_ || now >= until) co_return found;
    limit.expires_after(std::chrono::ceil<std::chrono::milliseconds>(until - now));
    co_await self->changed_.wait();
  }
}

Task<> DirectoryWatch::pump(std::shared_ptr<DirectoryWatch> self) {
  while (!self->over_) {
    self->draining_ = true;
    auto turn = [&watch = self->watch_] { return watch.drain(); };
    auto more = co_await self->pool_->run(std::move(turn));
    self->draining_ = false;
    self->newest_ = self->watch_.newest();
    if (!more && !self->watch_.ended()) self->failure_ = std::move(more.error());
    if (!more || self->watch_.ended()) self->end();
    self->changed_.notify_all();
    // Readers run first, even when there are always more events.
    co_await asio::post(use_task);
    if (!self->over_ && !*more) co_await self->quiet();
  }
}

/// Waits until the kernel has events or a held rename is due.
Task<> DirectoryWatch::quiet() {
  if (const auto due = watch_.deadline()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - std::chrono::steady_clock::now());
    held_.expires_after(std::max(left, std::chrono::milliseconds{1}));
  }
  co_await ready_.async_wait(Descriptor::wait_read, asio::as_tuple(use_task));
  held_.clear();
}

void DirectoryWatch::end() {
  over_ = true;
  ready_.cancel();
  changed_.notify_all();
}

DirectoryWatches::DirectoryWatches(Executor executor, BlockingPool& pool, Limits limits)
    : executor_{executor}, pool_{pool}, limits_{limits}, pumps_{executor}, sweep_due_{executor, [this] { sweep(); }} {}

Task<Result<DirectoryWatches::Reader>> DirectoryWatches::join(std::function<Result<UniqueFd>()> open,
                                                              std::string prefix, bool recursive,
                                                              std::size_t levels_above) {
  Key key{.prefix = std::move(prefix), .recursive = recursive};
  UniqueFd directory;
  auto look = [&]() -> Result<> {
    SKIFF_TRY(auto opened, open());
    SKIFF_TRY(const auto info, status_of(opened.get()));
    key.device = info.st_dev;
    key.inode = info.st_ino;
    directory = std::move(opened);
    return {};
  };
  SKIFF_CO_TRY_VOID(co_await pool_.run(std::move(look)));
  const auto shared = [&] {
    const auto found = entries_.find(key);
    return found != entries_.end() && !found->second.watch->over();
  };
  if (!closed_ && shared()) co_return read(key);

  // Cursors increase from one watch to the next, so a cursor of an earlier watch is recognised as old.
  const auto now = std::chrono::floor<std::chrono::microseconds>(wall_now()).time_since_epoch().count();
  const WatchOptions options{.prefix = key.prefix,
                             .recursive = recursive,
                             .first_cursor = static_cast<std::uint64_t>(now),
                             .find_again = open,
                             .levels_above = levels_above};
  auto begin = [&] { return Watch::open(std::move(directory), options, {}); };
  SKIFF_CO_TRY(auto watch, co_await pool_.run(std::move(begin)));
  if (closed_) co_return fail(Errc::draining, "the agent is stopping");
  if (!shared()) {
    auto begun = std::make_shared<DirectoryWatch>(std::move(watch), executor_, &pool_);
    entries_.insert_or_assign(key, Entry{.watch = begun});
    pumps_.spawn("directory watch", serve(this, begun));
  }
  co_return read(key);
}

Task<> DirectoryWatches::serve(DirectoryWatches* self, std::shared_ptr<DirectoryWatch> watch) {
  co_await DirectoryWatch::pump(watch);
  watch.reset();
  self->sweep();
}

DirectoryWatches::Reader DirectoryWatches::read(const Key& key) {
  Entry& entry = entries_.at(key);
  ++entry.readers;
  return {*this, key, entry.watch};
}

void DirectoryWatches::leave(const Key& key, const DirectoryWatch& watch) {
  const auto found = entries_.find(key);
  // A watch that is over may have been replaced meanwhile.
  if (found == entries_.end() || found->second.watch.get() != &watch || --found->second.readers > 0) return;
  found->second.left = std::chrono::steady_clock::now();
  sweep();
}

/// Forgets the watches that are over, that have lingered long enough, and the oldest ones above the limit.
void DirectoryWatches::sweep() {
  std::vector<SteadyTime> waiting;
  for (const auto& [key, entry] : entries_) {
    if (entry.readers == 0) waiting.push_back(entry.left);
  }
  SteadyTime oldest = std::chrono::steady_clock::now() - limits_.linger;
  if (waiting.size() > limits_.most_lingering) {
    const auto last = waiting.begin() + static_cast<std::ptrdiff_t>(waiting.size() - limits_.most_lingering - 1);
    std::ranges::nth_element(waiting, last);
    oldest = std::max(oldest, *last);
  }
  std::optional<SteadyTime> next;
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    if (entry.readers > 0) return false;
    if (entry.left <= oldest || entry.watch->over()) {
      entry.watch->end();
      return true;
    }
    next = std::min(next.value_or(entry.left), entry.left);
    return false;
  });
  if (!next) return;
  const auto left = *next + limits_.linger - std::chrono::steady_clock::now();
  sweep_due_.expires_after(std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds{1}));
}

Task<> DirectoryWatches::close() {
  closed_ = true;
  for (auto& [key, entry] : entries_) entry.watch->end();
  co_await pumps_.join();
}

}  // namespace skiff::fs
