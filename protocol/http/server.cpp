#include "protocol/http/server.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>

#include "base/deadline.hpp"
#include "base/log.hpp"
#include "protocol/http/connection.hpp"
#include "protocol/net/places.hpp"

namespace skiff::protocol {

struct HttpServer::State {
  State(Executor executor_in, HttpServerOptions options)
      : executor{executor_in},
        service{.options = std::move(options)},
        places{service.options.limits.connections},
        tasks{executor_in} {}

  /// Counts a connection and makes it known to `drain`.
  struct Entry {
    Entry(State& state_in, HttpConnection& connection_in) : state{state_in}, connection{connection_in} {
      state.connections.insert(&connection);
    }
    ~Entry() { state.connections.erase(&connection); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    State& state;
    HttpConnection& connection;
  };

  static Task<> serve(State* self, Stream stream, Address peer);

  Executor executor;
  HttpService service;
  Places places;
  TaskGroup tasks;
  std::vector<std::shared_ptr<Listener>> listeners;
  std::unordered_set<HttpConnection*> connections;
  std::size_t open = 0;
  Event emptied{executor};  ///< `open` became 0
  bool stopping = false;
};

Task<> HttpServer::State::serve(State* self, Stream stream, Address peer) {
  struct Count {
    explicit Count(State& state_in) : state{state_in} { ++state.open; }
    ~Count() {
      if (--state.open == 0) state.emptied.notify_all();
    }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    State& state;
  };
  const Count counted{*self};
  // On the heap, so that nothing of the HTTP connection is left in memory by the time that a successor runs.
  std::unique_ptr<HttpConnection> connection;
  Places::Place place{self->places, peer, [&connection] { connection->close(); }};
  connection = std::make_unique<HttpConnection>(std::move(stream), self->service, place);
  {
    const Entry entry{*self, *connection};
    co_await connection->run();
  }
  auto successor = connection->take_successor();
  connection.reset();
  if (successor) co_await successor->handler(std::move(successor->connection));
}

HttpServer::HttpServer(Executor executor, HttpServerOptions options)
    : state_{std::make_unique<State>(executor, std::move(options))} {}
HttpServer::~HttpServer() = default;

void HttpServer::listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls) {
  if (state_->stopping) return;
  state_->listeners.push_back(listener);
  auto accepted = [this, tls = std::move(tls)](UniqueFd socket, const Address& peer) {
    serve(std::move(socket), peer, tls);
  };
  auto make_room = [this] {
    const auto& ask = state_->service.options.out_of_descriptors;
    return (ask && ask()) || state_->places.make_room();
  };
  state_->tasks.spawn("listener", listener->accept_all(std::move(accepted), std::move(make_room)));
}

void HttpServer::serve(UniqueFd socket, Address peer, std::shared_ptr<TlsContext> tls) {
  State& state = *state_;
  if (state.stopping) return;
  std::unique_ptr<TlsSession> session;
  if (tls) {
    auto made = tls->session(socket.get(), {});
    if (!made) {
      log::warning("TLS session", {{"error", made.error().message}});
      return;
    }
    session = std::move(*made);
  }
  Stream stream{state.executor, std::move(socket), peer.text(), std::move(session)};
  state.tasks.spawn("connection", State::serve(&state, std::move(stream), std::move(peer)));
}

void HttpServer::drain() {
  state_->service.draining = true;
  for (HttpConnection* connection : state_->connections) connection->close_if_idle();
}

Task<> HttpServer::drained(std::chrono::milliseconds limit) {
  bool overdue = false;
  Deadline deadline{state_->executor, [this, &overdue] {
                      overdue = true;
                      state_->emptied.notify_all();
                    }};
  deadline.expires_after(limit);
  while (state_->open > 0 && !overdue) co_await state_->emptied.wait();
}

Task<> HttpServer::stop() {
  state_->stopping = true;
  for (const auto& listener : state_->listeners) listener->close();
  state_->tasks.cancel();
  co_await state_->tasks.join();
  state_->listeners.clear();
}

std::size_t HttpServer::connections() const noexcept {
  return state_->open;
}
std::size_t HttpServer::requests() const noexcept {
  return state_->service.requests;
}

}  // namespace skiff::protocol
