#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// One connection of a server, of any protocol.
class ServerConnection {
 public:
  /// Continues with the socket after the connection's own memory is free; empty: there is no successor.
  using Successor = std::move_only_function<Task<>()>;

  ServerConnection() = default;
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  virtual ~ServerConnection() = default;

  /// Serves until the connection ends.
  [[nodiscard]] virtual Task<Successor> run() = 0;
  /// Takes no new request, and ends the connection as soon as none is running.
  virtual void drain() noexcept = 0;
};

/// The connections of a server, from accept to end. Each has a slot (ConnectionSlots) and a task, and ends with the
/// server. Reactor thread only.
class Connections {
 public:
  struct Options {
    SlotLimits slots;  ///< limits of simultaneous connections
    std::function<std::unique_ptr<ServerConnection>(Stream stream, ConnectionSlots::Slot& slot)> make;
    /// Called when a new connection finds no free descriptor. Returns true if one may be free now.
    std::function<bool()> out_of_descriptors = {};
  };

  Connections(Executor executor, Options options);
  /// `stop()` must have ended.
  ~Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Accepts from `listener` until it is closed or `stop()`; any number of listeners. With `tls`, it speaks TLS.
  void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls = nullptr);
  /// Serves one connected socket.
  void serve(UniqueFd socket, Address peer, const std::shared_ptr<TlsContext>& tls = nullptr);

  /// Drains all connections. Listening continues.
  void drain();
  /// Waits until no connection is left, or for `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit);
  /// Closes the listeners, cancels all connections, and waits until they have ended.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t open() const noexcept { return open_; }

 private:
  class Entry;
  static Task<> serve(Connections* self, Stream stream, Address peer);

  Executor executor_;
  Options options_;
  ConnectionSlots slots_;
  TaskGroup tasks_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::unordered_set<ServerConnection*> connections_;
  std::size_t open_ = 0;  ///< including successors
  Event emptied_;
  bool stopping_ = false;
  bool trims_ = false;  ///< a trim of the heap is scheduled
  Deadline trim_;
};

}  // namespace skiff::protocol
