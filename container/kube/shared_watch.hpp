#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/async/event.hpp"
#include "container/kube/watch.hpp"

namespace skiff::kube {

/// A Watch that any number of coroutines share, each waiting for one object by name. A thousand readers use one
/// connection; a single reader asks the server for its object only, not for the events of the whole namespace. It has
/// no task of its own: one of the waiting readers reads for all, and hands that over when it leaves. Without readers no
/// connection is open. Reactor thread only; it must outlive its readers.
class SharedWatch {
 public:
  class Reader;

  /// `options.resource_version` must be empty: this class chooses where to begin.
  SharedWatch(Client* client, Executor executor, WatchOptions options);
  ~SharedWatch();
  SharedWatch(const SharedWatch&) = delete;
  SharedWatch& operator=(const SharedWatch&) = delete;

  /// A reader of `name` gets every change after this call has ended: so follow first, then create, delete or get. The
  /// first reader lists one object to learn the version to begin with.
  [[nodiscard]] Task<Outcome<Reader>> follow(std::string name);

  /// Number of connections since the current readers began.
  [[nodiscard]] unsigned connections() const noexcept { return single_.connections() + shared_.connections(); }

 private:
  /// The news that one reader has not taken yet.
  struct Mailbox {
    explicit Mailbox(Executor executor) : filled{executor} {}
    bool has_news = false;
    std::optional<Object> newest;  ///< with news: empty when the object was deleted
    std::optional<Failure> failure;
    Event filled;  ///< notified with news, or when it is this reader's turn to read
  };
  using Mailboxes = std::multimap<std::string, Mailbox, std::less<>>;  ///< keyed by the object's name

  /// One Watch and its readers.
  struct Source {
    explicit Source(Executor executor) : begun{executor} {}
    std::optional<Watch> watch;  ///< exists while there are readers
    Mailboxes mailboxes;
    bool is_read = false;   ///< one of the readers is reading for all
    bool is_begun = false;  ///< one of the readers is finding out where to begin
    Event begun;            ///< notified when that reader has succeeded or failed

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
  Source single_;  ///< watches only the first reader's object
  Source shared_;  ///< watches all objects, for the other readers
};

/// A slow reader gets only the newest state, so its memory is bounded. Movable.
class SharedWatch::Reader {
 public:
  ~Reader();
  Reader(Reader&& other) noexcept;
  Reader& operator=(Reader&&) = delete;

  /// Waits for the newest state that was not returned yet; empty when the object was deleted. Like Watch::next, it may
  /// fail, be cancelled and be called again.
  [[nodiscard]] Task<Outcome<std::optional<Object>>> next();

 private:
  friend class SharedWatch;
  Reader(Source* source, Mailboxes::iterator mailbox) : source_{source}, mailbox_{mailbox} {}

  Source* source_;
  Mailboxes::iterator mailbox_;
};

}  // namespace skiff::kube
