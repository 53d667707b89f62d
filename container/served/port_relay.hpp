#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/served/server_client.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/server.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Connections to ports of sandboxes through the gateway of a `skiff serve`, which takes requests and not bytes: each
/// connection is served as HTTP here, and its requests are passed on with the API key. Other protocols get 400, and a
/// sentence. Reactor thread only.
class PortRelay {
 public:
  /// `server` must outlive it.
  PortRelay(Executor executor, const ServerClient* server) : executor_{executor}, server_{server} {}
  PortRelay(const PortRelay&) = delete;
  PortRelay& operator=(const PortRelay&) = delete;

  /// The client's side of a new one. `path` is that of the port at the server: /s/SANDBOX/PORT.
  [[nodiscard]] Result<protocol::Stream> connect(const std::string& path);
  /// Ends all of them; call it before the object goes away.
  [[nodiscard]] Task<> close();

 private:
  [[nodiscard]] protocol::HttpServer& server_of(const std::string& path);
  [[nodiscard]] Task<> answer(protocol::HttpExchange* http, std::string path);
  [[nodiscard]] Task<Result<>> pass_on(protocol::HttpExchange* http, std::string path);

  Executor executor_;
  const ServerClient* server_;
  std::map<std::string, std::unique_ptr<protocol::HttpServer>> servers_;  ///< by path
};

}  // namespace skiff::container
