#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/terminate/terminator.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

/// What the requests of a terminated connection need from the proxy.
struct Terminated {
  Target target;  ///< of the tunnel
  Terminator* terminator = nullptr;
  /// Judges the server anew, connects to it and logs that.
  std::function<Task<std::expected<protocol::Stream, Refusal>>(AuditRequest request)> reach;
  /// Judges and logs a further request on the last connection. One of both is asked for each request.
  std::function<std::optional<Refusal>(AuditRequest request)> reach_again;
  /// Logs a refusal of the current request.
  std::function<void(const Refusal& refusal)> refused;
  /// The request is over, with the status that the client has got; the connection may wait for the next one.
  std::function<void(unsigned status)> is_over;
  protocol::ReceiveBudget* budget = nullptr;
  std::string holder = {};  ///< in the budget
};

/// Serves requests in the TLS of a tunnel until the client ends. `hello` is what has come of that TLS. Each request is
/// parsed, judged and framed anew, gets the secret of its host, and goes out on a TLS connection to the server, whose
/// certificate has to be good for that name. Requests to read that follow at once share one. The secret is
/// masked in what comes back.
[[nodiscard]] Task<> serve_terminated(protocol::Stream client, std::string hello, Terminated proxy);

}  // namespace skiff::container::egress
