#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "container/egress/judge.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

/// What the requests of a client that speaks plain HTTP need from the proxy.
struct PlainHttp {
  /// Judges a server, connects to it and logs that. It is asked anew for each request.
  std::function<Task<std::expected<protocol::Stream, Refusal>>(Target target)> reach;
  /// Logs a refusal of the current request.
  std::function<void(const Refusal& refusal)> refused;
  /// The request is over; the connection may wait for the next one.
  std::function<void()> is_over;
  /// The server of a tunnel, in which requests name a path alone; without one, each names its server in an http:// URL.
  std::optional<Target> tunnel = {};
  protocol::ReceiveBudget* budget = nullptr;
  std::string holder = {};  ///< in the budget
};

/// Serves requests without TLS until the client ends: each is judged for itself, parsed and framed anew, and
/// goes out on a connection of its own. Fields of the client's connection and Upgrade do not pass. A request about
/// which two readers could disagree is answered 400, and ends the connection.
[[nodiscard]] Task<> serve_plain_http(protocol::Stream client, std::string already_read, PlainHttp proxy);

}  // namespace skiff::container::egress
