#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/host_name.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

/// One connection of the sandbox, from accept to end.
struct Passage {
  /// The protocol in which the client hears of a refusal.
  enum class Speaks : std::uint8_t { http, question, plain_http, socks_greeting, socks, tunnel, terminated };

  protocol::Stream client;
  protocol::Stream upstream = {};
  Target target = {};             ///< empty before it is known
  std::string buffered = {};      ///< bytes of the client that were read and not passed on
  std::string address = {};       ///< of the server, for the current request
  std::string connected_to = {};  ///< the address of the last server that was connected
  Speaks speaks = Speaks::http;
  std::optional<Target> plain_tunnel = {};  ///< the server of a tunnel that carries requests
  bool is_cut = false;
  SteadyTime begun = std::chrono::steady_clock::now();  ///< of its current request, if it carries several
  std::string id = {};  ///< in the log, from the line that allows it to the one that ends it; else empty
  std::shared_ptr<const protocol::Traffic> traffic = {};  ///< with the server
  protocol::Traffic before = {};                          ///< of that, what earlier requests have carried
  std::optional<AuditRequest> request = {};               ///< in a terminated tunnel
  /// They close the two streams, wherever these are by then.
  std::function<void()> close_client = client.closer();
  std::function<void()> close_upstream = {};

  void cut() {
    is_cut = true;
    close_client();
    if (close_upstream) close_upstream();
  }
  /// What the current request has carried.
  [[nodiscard]] protocol::Traffic carried() const {
    return {.sent = traffic->sent - before.sent, .received = traffic->received - before.received};
  }
};

}  // namespace skiff::container::egress
