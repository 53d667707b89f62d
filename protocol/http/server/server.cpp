#include "protocol/http/server/server.hpp"

#include <utility>

#include "protocol/http/server/connection.hpp"
#include "protocol/net/connections.hpp"

namespace skiff::protocol {
namespace {

class Http1 final : public ServerConnection {
 public:
  Http1(Stream stream, HttpService& service, ConnectionSlots::Slot& slot)
      : connection_{std::move(stream), service, slot} {}

  Task<Successor> run() override {
    co_await connection_.run();
    auto successor = connection_.take_successor();
    if (!successor) co_return Successor{};
    co_return [next = std::move(*successor)]() mutable { return next.handler(std::move(next.connection)); };
  }
  void drain() noexcept override { connection_.close_if_idle(); }

 private:
  HttpConnection connection_;
};

}  // namespace

struct HttpServer::State {
  State(Executor executor, HttpServerOptions options)
      : service{.options = std::move(options)},
        connections{executor,
                    {.slots = service.options.limits.slots,
                     .make = [this](Stream stream, ConnectionSlots::Slot& slot) -> std::unique_ptr<ServerConnection> {
                       return std::make_unique<Http1>(std::move(stream), service, slot);
                     },
                     .out_of_descriptors = service.options.out_of_descriptors}} {}

  HttpService service;
  Connections connections;
};

HttpServer::HttpServer(Executor executor, HttpServerOptions options)
    : state_{std::make_unique<State>(executor, std::move(options))} {}
HttpServer::~HttpServer() = default;

void HttpServer::listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls) {
  state_->connections.listen(std::move(listener), std::move(tls));
}

void HttpServer::serve(UniqueFd socket, Address peer, std::shared_ptr<TlsContext> tls) {
  state_->connections.serve(std::move(socket), std::move(peer), tls);
}

void HttpServer::drain() {
  state_->service.draining = true;
  state_->connections.drain();
}

Task<> HttpServer::drained(std::chrono::milliseconds limit) {
  return state_->connections.drained(limit);
}

Task<> HttpServer::stop() {
  return state_->connections.stop();
}

std::size_t HttpServer::connections() const noexcept {
  return state_->connections.open();
}
std::size_t HttpServer::requests() const noexcept {
  return state_->service.requests;
}

}  // namespace skiff::protocol
