#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/blocking_pool.hpp"
#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "fs/watch/watch.hpp"

namespace skiff::fs {

/// A directory that is watched for any number of readers, each at its own cursor. Reactor thread only.
class DirectoryWatch {
 public:
  /// `pool` must outlive it: the pool closes the watch, because closing an inotify(7) descriptor may take long (0.4 s
  /// were seen).
  DirectoryWatch(Watch watch, Executor executor, BlockingPool* pool);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Returns up to `most` events after `cursor` (see WatchLog::after). Waits until an event may have come, `until` is
  /// reached, the watch is over or `wake()` is called; so the list may be empty. Errors: those of inotify(7), after the
  /// last event.
  [[nodiscard]] static Task<Result<std::vector<WatchEvent>>> events(std::shared_ptr<DirectoryWatch> self,
                                                                    std::uint64_t cursor, std::size_t most,
                                                                    SteadyTime until);
  /// Ends the waits of all readers, because one of them has another condition to check.
  void wake() { changed_.notify_all(); }

  /// Returns the cursor of the newest event.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  /// The directory is gone, the watch failed or the agent stops: no events come after the last ones.
  [[nodiscard]] bool over() const noexcept { return over_; }

 private:
  friend class DirectoryWatches;
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

  static Task<> pump(std::shared_ptr<DirectoryWatch> self);
  Task<> quiet();
  void end();

  BlockingPool* pool_;
  Watch watch_;  // used by the pool thread while `draining_`
  bool draining_ = false;
  bool over_ = false;
  std::optional<Error> failure_;
  std::uint64_t newest_;
  Descriptor ready_;
  Deadline held_;  // fires when the first half of a rename has waited long enough
  Event changed_;
};

/// The watched directories. A watch without readers is kept for a while, so that a client that reconnects with its last
/// cursor has missed no event. Reactor thread only.
class DirectoryWatches {
 public:
  struct Limits {
    std::chrono::milliseconds linger{60'000};  ///< how long a watch is kept without a reader
    std::size_t most_lingering = 16;  ///< watches without a reader; by default the kernel gives a user 128 inotify(7)
                                      ///< instances
  };
  DirectoryWatches(Executor executor, BlockingPool& pool, Limits limits);

  /// The identity of a watch.
  struct Key {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string prefix = {};
    bool recursive = false;
    auto operator<=>(const Key&) const = default;
  };

  /// Holds a watch for one reader.
  class Reader {
   public:
    Reader(DirectoryWatches& all, Key key, std::shared_ptr<DirectoryWatch> watch)
        : all_{all}, key_{std::move(key)}, watch_{std::move(watch)} {}
    Reader(Reader&& other) noexcept = default;
    Reader& operator=(Reader&&) = delete;
    ~Reader() {
      if (watch_) all_.leave(key_, *watch_);
    }
    [[nodiscard]] const std::shared_ptr<DirectoryWatch>& watch() const noexcept { return watch_; }

   private:
    DirectoryWatches& all_;
    Key key_;
    std::shared_ptr<DirectoryWatch> watch_;
  };

  /// Joins the watch of the directory that `open` returns, or starts one; `open` runs on the pool. `prefix` is the
  /// prefix of the paths of its events. A rename of the directory or of one of the `levels_above` directories between
  /// it and its root ends the watch. Errors: those of `open` and of Watch::open; draining.
  [[nodiscard]] Task<Result<Reader>> join(std::function<Result<UniqueFd>()> open, std::string prefix, bool recursive,
                                          std::size_t levels_above);

  /// Ends all watches and waits until no task works for them. `join` fails from then on.
  [[nodiscard]] Task<> close();

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<DirectoryWatch> watch;
    std::size_t readers = 0;
    SteadyTime left{};  ///< time when the last reader left
  };
  static Task<> serve(DirectoryWatches* self, std::shared_ptr<DirectoryWatch> watch);
  Reader read(const Key& key);
  void leave(const Key& key, const DirectoryWatch& watch);
  void sweep();

  Executor executor_;
  BlockingPool& pool_;
  const Limits limits_;
  TaskGroup pumps_;
  std::map<Key, Entry> entries_;
  Deadline sweep_due_;
  bool closed_ = false;
};

}  // namespace skiff::fs
