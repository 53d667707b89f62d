#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/endpoint.hpp"
#include "protocol/http/client.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::container {

/// Speaks to one agent (its API: /openapi.json) over whatever its endpoint connects by. Requests go one after the other
/// over one kept connection, so use one client for each thing that may wait. Where the endpoint is part of a trace each
/// request is a span of it, and the agent gets its `traceparent`. Reactor thread only.
///
/// What the agent refuses comes back as the very error it gave, code, detail and field; a broken connection is
/// `io_error` or `timeout`, and worth another try.
class AgentClient {
 public:
  AgentClient(Executor executor, Endpoint endpoint);
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  /// `path` with its query, as /v1/version. The answer's JSON: an object, or null for one without a body. It is asked
  /// for once more when the connection ends before it does.
  [[nodiscard]] Task<Result<nlohmann::json>> get(std::string path);
  /// Gives all `items` of a list that comes in pages, objects, one after the other: a page of them is kept at a time.
  [[nodiscard]] Task<Result<>> each_item(std::string path, std::function<void(nlohmann::json item)> take);
  /// All of them, an array of objects.
  [[nodiscard]] Task<Result<nlohmann::json>> get_items(std::string path);
  /// `body` is JSON text.
  [[nodiscard]] Task<Result<nlohmann::json>> post(std::string path, std::string body);
  [[nodiscard]] Task<Result<nlohmann::json>> patch(std::string path, std::string body);
  /// `remove` of what is not there is an error, as any refusal.
  [[nodiscard]] Task<Result<>> remove(std::string path);
  /// Raw bytes as the body of a POST.
  [[nodiscard]] Task<Result<>> post_bytes(std::string path, std::string bytes);

  /// A GET whose body is read piece by piece from `http()`.
  [[nodiscard]] Task<Result<protocol::HttpResponseHead>> open(std::string path);
  /// A request as it is given, with the credentials: whatever is answered, its body is read piece by piece from
  /// `http()`. `target` is the path with its query.
  [[nodiscard]] Task<Result<protocol::HttpResponseHead>> exchange(protocol::HttpClient::Request request);
  /// A PUT of a body whose length is not known: write it to `http()`, then `end_upload`.
  [[nodiscard]] Task<Result<>> begin_upload(std::string path);
  [[nodiscard]] Task<Result<nlohmann::json>> end_upload();
  [[nodiscard]] protocol::HttpClient& http() noexcept { return http_; }

  /// A WebSocket on a connection of its own, with that subprotocol. `not_supported` when something on the way lets none
  /// through.
  [[nodiscard]] Task<Result<std::unique_ptr<protocol::WebSocket>>> open_socket(std::string path,
                                                                               std::string subprotocol,
                                                                               protocol::WebSocket::Options options);
  /// The same for events and bytes of commands: skiff.v1.binary.
  [[nodiscard]] Task<Result<std::unique_ptr<protocol::WebSocket>>> open_socket(std::string path);

  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }

 private:
  /// A span for one request; what the agent does is a part of it.
  [[nodiscard]] Span begin_span(const std::string& method, const std::string& path) const;
  [[nodiscard]] Task<Result<protocol::Headers>> headers(const Span* span) const;
  [[nodiscard]] Task<Result<nlohmann::json>> send(std::string method, std::string path, std::string type,
                                                  std::string body);
  [[nodiscard]] Task<Result<nlohmann::json>> send_once(protocol::HttpClient::Request request, Span* span);
  [[nodiscard]] Task<Result<nlohmann::json>> read_answer(protocol::HttpResponseHead head, Span* span);
  [[nodiscard]] Task<Result<std::unique_ptr<protocol::WebSocket>>> upgrade(std::string path, std::string subprotocol,
                                                                           protocol::WebSocket::Options options,
                                                                           Span* span);

  Executor executor_;
  Endpoint endpoint_;
  protocol::HttpClient http_;
  Span upload_;  ///< the one that is under way
};

/// What an answer means that is none of success: the agent's own error, or that of something on the way to it.
[[nodiscard]] Error refusal(const protocol::HttpResponseHead& head, const std::string& body);

/// Of an answer that no agent gives: invalid_request, "what answers there is no skiffd: WHAT".
[[nodiscard]] Error foreign_answer(const std::string& what);

/// Fields of what an agent says. A sandbox may lie: what is absent or of another type is empty. Where another type has
/// to be told there is `AgentAnswer`.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* key);
[[nodiscard]] std::optional<std::uint64_t> number_at(const nlohmann::json& object, const char* key);
[[nodiscard]] std::optional<bool> flag_at(const nlohmann::json& object, const char* key);
/// Null when it is not an object.
[[nodiscard]] nlohmann::json object_at(const nlohmann::json& object, const char* key);

/// /v1/sessions/SESSION/commands/COMMAND
[[nodiscard]] std::string command_path(std::string_view session, std::string_view command);

/// True for an error after which the same may be tried on a new connection: ours has broken, or that of a gateway.
[[nodiscard]] bool is_broken_connection(const Error& error) noexcept;

}  // namespace skiff::container
