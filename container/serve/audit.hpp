#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/service/audit_log.hpp"

/// The audit log of `skiff serve`: who did what to which sandbox. It never contains credentials, bodies, paths in a
/// sandbox, or variables. docs/runbook.md describes its lines.
namespace skiff::container::serve {

using protocol::service::AuditLog;

/// A request that was answered; empty members are left out.
struct AuditedRequest {
  std::string_view request_id;
  std::string_view who = {};  ///< name of the key or the account, or the kind of another credential
  std::string_view key = {};  ///< see `audited_key`
  std::string_view tenant = {};
  std::string_view peer = {};
  std::string_view forwarded_for = {};  ///< address that the proxy in front has named
  std::string_view method = {};
  std::string_view route = {};  ///< path of the route, or gateway:PORT; never the client's own text
  std::string_view sandbox = {};
  unsigned status = 0;  ///< 0: the client left before the answer
  std::optional<Errc> error = {};
  std::chrono::microseconds took{};
  std::string traceparent = {};
};

/// Names an API key in the log without revealing it: the first 8 digits of its SHA-256, which `skiff key ls -o json`
/// shows.
[[nodiscard]] std::string_view audited_key(std::string_view sha256) noexcept;

/// `log` may be null.
void audit_request(AuditLog* log, const AuditedRequest& request);
/// Something that the server did by itself: `removal` of a sandbox whose lease is over, or `wake` for a request.
void audit_deed(AuditLog* log, std::string_view event, std::string_view tenant, std::string_view sandbox,
                const std::optional<Error>& failure);

}  // namespace skiff::container::serve
