#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/deadline.hpp"
#include "base/event.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// One connection of a server, whatever it speaks.
class ServerConnection {
 public:
  /// What goes on with the socket when the connection's own memory is free; empty: nothing.
  using Successor = std::move_only_function<Task<>()>;

  ServerConnection() = default;
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  virtual ~ServerConnection() = default;

  /// Serves until the connection ends.
  [[nodiscard]] virtual Task<Successor> run() = 0;
  /// Ends it as soon as nothing is under way, and takes nothing new.
  virtual void drain() noexcept = 0;
};

/// The connections of a server, from their accept to their end: each has a place (Places), a task, and an end with the
/// server. Reactor thread only.
class Connections {
 public:
  struct Options {
    PlaceLimits places;  ///< most at the same time
    std::function<std::unique_ptr<ServerConnection>(Stream stream, Places::Place& place)> make;
    /// Called when a connection finds no free descriptor. True: there may be one now.
    std::function<bool()> out_of_descriptors = {};
  };

  Connections(Executor executor, Options options);
  /// `stop()` must have ended.
  ~Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Accepts from `listener` until that is closed or `stop()`; any number of listeners. With `tls`, speaks TLS on it.
  void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls = nullptr);
  /// Serves one connected socket.
  void serve(UniqueFd socket, Address peer, const std::shared_ptr<TlsContext>& tls = nullptr);

  /// Of each that there is. Listening goes on.
  void drain();
  /// Ends when no connection is left, or after `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit);
  /// Closes the listeners, cancels every connection, and waits until they have ended.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t open() const noexcept { return open_; }

 private:
  class Entry;
  static Task<> serve(Connections* self, Stream stream, Address peer);

  Executor executor_;
  Options options_;
  Places places_;
  TaskGroup tasks_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::unordered_set<ServerConnection*> connections_;
  std::size_t open_ = 0;  ///< successors included
  Event emptied_;
  bool stopping_ = false;
  bool trims_ = false;  ///< soon
  Deadline trim_;
};

}  // namespace skiff::protocol
