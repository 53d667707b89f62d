#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/schema.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/route.hpp"
#include "runtime/auth/credentials.hpp"

namespace skiff::runtime::mcp {
class Clients;
}

namespace skiff::runtime::api {

/// The client and the request for which a command is started.
struct Caller {
  Identity identity;
  std::string request_id;
  std::string traceparent;  ///< W3C trace context; empty: none
};

/// One request in a handler: its data, its client, and the means to answer. Lives as long as the handler.
struct Call {
  Agent& agent;
  mcp::Clients& mcp_clients;  ///< for the routes of /mcp
  protocol::HttpExchange& http;
  const Route& route;
  Identity identity;
  std::vector<std::string> params;  ///< the values of the path template's variables, in order
  std::string request_id;
  std::string body;                  ///< the whole body, if the route has a JSON body
  bool lenient = false;              ///< Prefer: handling=lenient (RFC 7240)
  std::vector<std::string> ignored;  ///< names of unknown fields that were ignored
  std::string command_id;            ///< id of a command that the request started, for the logs
  std::string traceparent;           ///< W3C trace context; empty: none

  [[nodiscard]] const protocol::Target& target() const { return http.request().target; }
  [[nodiscard]] std::optional<std::string_view> query(std::string_view name) const { return target().parameter(name); }
  /// Errors: invalid_field, which names the parameter.
  [[nodiscard]] Result<std::optional<std::uint64_t>> query_number(std::string_view name, std::uint64_t most) const;
  [[nodiscard]] Result<bool> query_flag(std::string_view name) const;
  /// Last-Event-ID: the position of an EventSource that reconnects (WHATWG HTML 9.2.4), which is newer than the one in
  /// its URL. Errors: invalid_field.
  [[nodiscard]] Result<std::optional<std::uint64_t>> last_event_id() const;

  /// The session that the path names, or the default one. Errors: session_not_found, insufficient_scope.
  [[nodiscard]] Result<std::shared_ptr<sessions::Session>> session() const;
  [[nodiscard]] Result<std::shared_ptr<sessions::Session>> session(std::string_view id) const;
  /// The command that the path names.
  [[nodiscard]] Result<std::shared_ptr<sessions::Command>> command() const;

  /// Decodes the JSON body. Errors: see protocol/json/schema.hpp.
  template <class T>
  [[nodiscard]] Result<T> decode() {
    auto decoded = protocol::decode<T>(body.empty() ? std::string_view{"{}"} : std::string_view{body},
                                       {.max_bytes = agent.settings.max_json_bytes}, lenient ? &ignored : nullptr);
    tell_ignored();
    return decoded;
  }
  /// Lists the ignored fields in Preference-Applied (RFC 7240 section 3).
  void tell_ignored();

  /// Answers with a JSON body and a final newline, for terminals.
  [[nodiscard]] Task<Result<>> json(unsigned status, std::string text);
  [[nodiscard]] Task<Result<>> no_content();
};

/// Whether the same request may succeed later, so that the answer has Retry-After.
[[nodiscard]] bool is_for_later(Errc code) noexcept;

/// The answer for an error of a handler.
[[nodiscard]] protocol::HttpResponse problem_response(const Error& error, std::string_view request_id,
                                                      std::span<const protocol::ProblemMember> extra = {});

}  // namespace skiff::runtime::api
