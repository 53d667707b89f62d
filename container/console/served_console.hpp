#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/console/session_door.hpp"
#include "container/serve/service.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::container::console {

/// The console in front of `skiff serve`, for holders of an API key. It serves the page and the form that signs in.
/// Requests of the page pass on to the server with the key of their session. All others pass on as they are: programs
/// with a key, and hosts that name a port. Reactor thread only.
class ServedConsole {
 public:
  /// `service` must outlive it, and is `beside_own_page`.
  explicit ServedConsole(serve::Service* service) : service_{service}, door_{&service->keys()} {}

  /// Answers one request.
  [[nodiscard]] Task<> answer(protocol::HttpExchange& http);

 private:
  struct Visit;
  /// The page, or the form for a browser without a session.
  [[nodiscard]] Task<> show_page(Visit* visit);
  [[nodiscard]] Task<> sign_in(Visit* visit);
  [[nodiscard]] Task<> sign_out(Visit* visit);
  /// Passes a request of the page's script on.
  [[nodiscard]] Task<> pass_on(Visit* visit);

  serve::Service* service_;
  SessionDoor door_;
};

}  // namespace skiff::container::console
