#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::kube {

/// One reason among several: a field, or a finding of an admission check.
struct Cause {
  std::string reason = {};
  std::string message = {};
  std::string field = {};
};

/// The API server's answer in place of the requested object: `Status` of meta/v1 (Kubernetes API conventions, "Response
/// Status Kind"), or the parts of it that a plain-text answer contains.
struct Status {
  unsigned code = 0;         ///< HTTP status; 0: there was no answer
  std::string reason = {};   ///< "AlreadyExists", "Conflict", "Invalid", "Expired", ...; the set is open
  std::string message = {};  ///< for people
  std::vector<Cause> causes = {};
  std::optional<std::chrono::milliseconds> retry_after = {};  ///< the wait that the server asks for
  std::string continue_token = {};  ///< after a list has expired: continues it from a newer state
};

/// Why a request to the cluster failed. `error` explains it to people in one sentence; the code decides by the other
/// fields.
struct Failure {
  Error error;
  Status status = {};
  /// The request, or an earlier try of it, was sent and its answer did not come: it may have taken effect.
  bool may_have_happened = false;

  /// Converts to the error for people, so that SKIFF_TRY works with an `Outcome` in a function that returns a `Result`.
  operator Error() && { return std::move(error); }  // NOLINT(hicpp-explicit-conversions, google-explicit-constructor)

  [[nodiscard]] bool not_found() const noexcept { return status.code == 404; }
  [[nodiscard]] bool already_exists() const noexcept { return status.reason == "AlreadyExists"; }
  /// Another client changed the object meanwhile, or a precondition names another object.
  [[nodiscard]] bool conflict() const noexcept { return status.reason == "Conflict"; }
  /// The resourceVersion or `continue` is older than what the server keeps.
  [[nodiscard]] bool expired() const noexcept { return status.code == 410; }
  [[nodiscard]] bool forbidden() const noexcept { return status.code == 403; }
};

/// The `field` of an error of the cluster, or of our access to it, which the caller's request did not cause: the API
/// server does not answer, fails, or refuses our identity or rights.
inline constexpr std::string_view kClusterFault = "kubernetes";

template <class T = void>
using Outcome = std::expected<T, Failure>;

/// A failure on this side of the wire.
[[nodiscard]] inline std::unexpected<Failure> failed(Error error) {
  return std::unexpected{Failure{.error = std::move(error)}};
}

/// Reads an answer that isn't 2xx. `attempted` begins the message: "create pod a/b". Takes any body: a `Status`,
/// another JSON, or text (an unknown path, the queues' 429 and everything proxied answer with text).
[[nodiscard]] Failure read_failure(const protocol::HttpResponseHead& head, std::string_view body,
                                   std::string_view attempted);

/// Reads a `Status` that came as an object: in a watch, or over a channel of a WebSocket.
[[nodiscard]] Failure read_status(std::string_view status_json, std::string_view attempted);

}  // namespace skiff::kube
