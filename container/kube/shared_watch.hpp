#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/event.hpp"
#include "container/kube/watch.hpp"

namespace skiff::kube {

/// A Watch for any number of coroutines that each wait for one object by its name: a thousand of them hold one
/// connection, and one alone asks the server for its object only, not for the news of a whole namespace. There is no
/// task behind it: one of those who wait reads for all, and whoever leaves hands that over. Without readers it holds
/// nothing open. Reactor thread only; it must outlive its readers.
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
  [[nodiscard]] unsigned connections() const noexcept { return single_.connections() + shared_.connections(); }

 private:
  /// What one reader has not been told yet.
  struct Mailbox {
    explicit Mailbox(Executor executor) : filled{executor} {}
    bool has_news = false;
    std::optional<Object> newest;  ///< with news: none when it is gone
    std::optional<Failure> failure;
    Event filled;  ///< or: the turn to read has come
  };
  using Mailboxes = std::multimap<std::string, Mailbox, std::less<>>;  ///< by the object's name

  /// One Watch and those who read it.
  struct Source {
    explicit Source(Executor executor) : begun{executor} {}
    std::optional<Watch> watch;  ///< while there are readers
    Mailboxes mailboxes;
    bool is_read = false;   ///< by one of the readers, for all
    bool is_begun = false;  ///< one of them looks where to begin
    Event begun;            ///< that it has found it, or failed

    [[nodiscard]] unsigned connections() const noexcept { return watch ? watch->connections() : 0; }
    [[nodiscard]] Task<> read();
    void pass_on();
    void hand_out(WatchEvent event);
    void hand_out(const Failure& failure);
    void leave(Mailboxes::iterator mailbox);
  };

  [[nodiscard]] Task<Outcome<>> begin(Source* source, WatchOptions options);

  Client* client_;
  Executor executor_;
  WatchOptions options_;
  Source single_;  ///< of the first one's object
  Source shared_;  ///< of all objects, for everybody else
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
  Reader(Source* source, Mailboxes::iterator mailbox) : source_{source}, mailbox_{mailbox} {}

  Source* source_;
  Mailboxes::iterator mailbox_;
};

}  // namespace skiff::kube
