#include "protocol/net/connections.hpp"

#include <utility>

#include "base/async/deadline.hpp"
#include "base/log/log.hpp"
#include "base/memory.hpp"

namespace skiff::protocol {
namespace {

/// The time from the end of a connection until its freed memory is returned, for all that end meanwhile.
constexpr std::chrono::milliseconds kUntilTrim{2'000};

}  // namespace

/// Registers a connection for `drain`.
class Connections::Entry {
 public:
  Entry(Connections& connections, ServerConnection& connection) : connections_{connections}, connection_{connection} {
    connections_.connections_.insert(&connection_);
  }
  ~Entry() { connections_.connections_.erase(&connection_); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Connections& connections_;
  ServerConnection& connection_;
};

Connections::Connections(Executor executor, Options options)
    : executor_{executor},
      options_{std::move(options)},
      slots_{options_.slots},
      tasks_{executor},
      emptied_{executor},
      trim_{executor, [this] {
              trims_ = false;
              give_memory_back();
            }} {}

Task<> Connections::serve(Connections* self, Stream stream, Address peer) {
  struct Count {
    explicit Count(Connections& connections_in) : connections{connections_in} { ++connections.open_; }
    ~Count() {
      if (--connections.open_ == 0) connections.emptied_.notify_all();
      if (!std::exchange(connections.trims_, true)) connections.trim_.expires_after(kUntilTrim);
    }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    Connections& connections;
  };
  const Count counted{*self};
  ConnectionSlots::Slot slot{self->slots_, peer, stream.closer()};
  // The connection is on the heap, so that all of its memory is free before a successor runs.
  auto connection = self->options_.make(std::move(stream), slot);
  ServerConnection::Successor successor;
  {
    const Entry entry{*self, *connection};
    successor = co_await connection->run();
  }
  connection.reset();
  if (!successor) co_return;
  slot.now(ConnectionSlots::Slot::Use::upgraded);
  co_await successor();
}

void Connections::listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls) {
  if (stopping_) return;
  listeners_.push_back(listener);
  auto accepted = [this, tls = std::move(tls)](UniqueFd socket, const Address& peer) {
    serve(std::move(socket), peer, tls);
  };
  auto make_room = [this] {
    return (options_.out_of_descriptors && options_.out_of_descriptors()) || slots_.make_room();
  };
  tasks_.spawn("listener", listener->accept_all(std::move(accepted), std::move(make_room)));
}

void Connections::serve(UniqueFd socket, Address peer, const std::shared_ptr<TlsContext>& tls) {
  if (stopping_) return;
  std::unique_ptr<TlsSession> session;
  if (tls) {
    auto made = tls->session(socket.get(), {});
    if (!made) {
      log::warning("TLS session", {{"error", made.error().message}});
      return;
    }
    session = std::move(*made);
  }
  Stream stream{executor_, std::move(socket), peer.text(), std::move(session)};
  tasks_.spawn("connection", serve(this, std::move(stream), std::move(peer)));
}

void Connections::drain() {
  for (ServerConnection* connection : connections_) connection->drain();
}

Task<> Connections::drained(std::chrono::milliseconds limit) {
  bool overdue = false;
  Deadline deadline{executor_, [this, &overdue] {
                      overdue = true;
                      emptied_.notify_all();
                    }};
  deadline.expires_after(limit);
  while (open_ > 0 && !overdue) co_await emptied_.wait();
}

Task<> Connections::stop() {
  stopping_ = true;
  for (const auto& listener : listeners_) listener->close();
  tasks_.cancel();
  co_await tasks_.join();
  listeners_.clear();
}

}  // namespace skiff::protocol
