#pragma once

#include <list>
#include <optional>
#include <string>

#include "base/event.hpp"
#include "container/kube/watch.hpp"

namespace skiff::kube {

/// One Watch for any number of coroutines that each wait for one object by its name: a thousand of them hold one
/// connection. There is no task behind it: one of those who wait reads for all, and whoever leaves hands that over.
/// Without readers it holds nothing open. Reactor thread only; it must outlive its readers.
class SharedWatch {
 public:
  class Reader;

  /// `options.resource_version` must be empty: where it begins is its own business.
  SharedWatch(Client* client, Executor executor, WatchOptions options);
  ~SharedWatch();
  SharedWatch(const SharedWatch&) = delete;
  SharedWatch& operator=(const SharedWatch&) = delete;

  /// A reader of `name` misses nothing that happens after this call has ended: so follow first, then create, delete or
  /// get. It lists one object, for the version to begin with, where nobody reads yet.
  [[nodiscard]] Task<Outcome<Reader>> follow(std::string name);

  /// How often it had to connect since somebody reads.
  [[nodiscard]] unsigned connections() const noexcept { return watch_ ? watch_->connections() : 0; }

 private:
  /// What one reader has not been told yet.
  struct Mailbox {
    Mailbox(Executor executor, std::string of) : name{std::move(of)}, filled{executor} {}
    std::string name;
    bool has_news = false;
    std::optional<Object> newest;  ///< with news: none when it is gone
    std::optional<Failure> failure;
    Event filled;  ///< or: the turn to read has come
  };

  [[nodiscard]] Task<Outcome<>> begin();
  [[nodiscard]] Task<> read();
  void pass_on();
  void hand_out(WatchEvent event);
  void hand_out(const Failure& failure);
  void leave(std::list<Mailbox>::iterator mailbox);

  Client* client_;
  Executor executor_;
  WatchOptions options_;
  std::optional<Watch> watch_;  ///< while there are readers
  std::list<Mailbox> mailboxes_;
  bool is_read_ = false;  ///< by one of the readers, for all
};

/// Only the newest state is kept for a reader that is slow, so what it holds is bounded. Moves, as its owner does.
class SharedWatch::Reader {
 public:
  ~Reader();
  Reader(Reader&& other) noexcept;
  Reader& operator=(Reader&&) = delete;

  /// The newest state that was not told yet; nothing when the object is gone. Fails as Watch::next does, and may be
  /// cancelled and called again like it.
  [[nodiscard]] Task<Outcome<std::optional<Object>>> next();

 private:
  friend class SharedWatch;
  Reader(SharedWatch* watch, std::list<Mailbox>::iterator mailbox) : watch_{watch}, mailbox_{mailbox} {}

  SharedWatch* watch_;
  std::list<Mailbox>::iterator mailbox_;
};

}  // namespace skiff::kube
