#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "container/serve/list/list_feed.hpp"

namespace skiff::container::serve {

/// The lists of all tenants that have readers, or had some not long ago: a client that reconnects has missed no event.
/// Reactor thread only.
class ListFeeds {
 public:
  /// How long a feed is kept without readers.
  static constexpr std::chrono::minutes kLinger{5};
  /// Readers look at their key and their connection at least as often.
  static constexpr std::chrono::seconds kTick{1};

  /// `fleet` must outlive it.
  ListFeeds(Executor executor, Fleet* fleet, ListFeed::Show show, ListFeed::Limits limits = {});

  /// Keeps a feed for one reader.
  class Reader {
   public:
    explicit Reader(std::shared_ptr<ListFeed> feed) : feed_{std::move(feed)} { feed_->enter(); }
    ~Reader() { feed_->leave(); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    [[nodiscard]] ListFeed& feed() const noexcept { return *feed_; }

   private:
    std::shared_ptr<ListFeed> feed_;
  };
  [[nodiscard]] Reader join(const std::string& tenant);

  /// From now on readers are to leave.
  void drain();
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  /// Ends all work. Call it when there are no more readers, before the drivers end.
  [[nodiscard]] Task<> stop();

 private:
  static Task<> serve(ListFeeds* self, std::string tenant, std::shared_ptr<ListFeed> feed);
  static Task<> tick(ListFeed* feed);

  Executor executor_;
  Fleet* fleet_;
  ListFeed::Show show_;
  ListFeed::Limits limits_;
  std::map<std::string, std::shared_ptr<ListFeed>> feeds_;
  bool draining_ = false;
  TaskGroup tasks_;
};

}  // namespace skiff::container::serve
