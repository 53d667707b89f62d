#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/endpoint.hpp"
#include "protocol/http/client.hpp"
#include "protocol/websocket/socket.hpp"

namespace skiff::container {

/// A client of one agent's API (/openapi.json). Its endpoint says how to connect. One connection is kept and carries
/// one request at a time, so give each long call a client of its own. Where the endpoint is part of a trace, each
/// request except `post_bytes` is a span of it, and every request carries a `traceparent`. Reactor thread only.
///
/// When the agent refuses a request, the result is the agent's error with code, detail and field. A broken connection
/// is an error for which `is_broken_connection` is true, and the caller may try again.
class AgentClient {
 public:
  AgentClient(Executor executor, Endpoint endpoint);
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  /// `path` includes the query, for example /v1/version. Returns the answer's JSON: an object, or null for an answer
  /// without a body. A request whose answer was cut is sent once more.
  [[nodiscard]] Task<Result<nlohmann::json>> get(std::string path);
  /// Passes each object in the `items` of a paged list to `take`. One page is kept in memory at a time.
  [[nodiscard]] Task<Result<>> each_item(std::string path, std::function<void(nlohmann::json item)> take);
  /// All items of a paged list, as an array of objects.
  [[nodiscard]] Task<Result<nlohmann::json>> get_items(std::string path);
  /// `body` is JSON text.
  [[nodiscard]] Task<Result<nlohmann::json>> post(std::string path, std::string body);
  [[nodiscard]] Task<Result<nlohmann::json>> patch(std::string path, std::string body);
  /// Removing an object that does not exist is an error, as any refusal is.
  [[nodiscard]] Task<Result<>> remove(std::string path);
  /// Sends raw bytes as the body of a POST.
  [[nodiscard]] Task<Result<>> post_bytes(std::string path, std::string bytes);

  /// A GET with these further header fields, whose body is read piece by piece from `http()`.
  [[nodiscard]] Task<Result<protocol::HttpResponseHead>> open(std::string path, protocol::Headers more = {});
  /// Adds the path prefix, headers and token, and sends the request. Read the answer's body in pieces from `http()`,
  /// whatever its status. `target` is the path with its query.
  [[nodiscard]] Task<Result<protocol::HttpResponseHead>> exchange(protocol::HttpClient::Request request);
  /// Begins a PUT of a body of unknown length: write it to `http()`, then call `end_upload`.
  [[nodiscard]] Task<Result<>> begin_upload(std::string path);
  [[nodiscard]] Task<Result<nlohmann::json>> end_upload();
  [[nodiscard]] protocol::HttpClient& http() noexcept { return http_; }

  /// Opens a WebSocket on a connection of its own with the given subprotocol. `not_supported` when a gateway or proxy
  /// on the way refuses WebSockets.
  [[nodiscard]] Task<Result<std::unique_ptr<protocol::WebSocket>>> open_socket(std::string path,
                                                                               std::string subprotocol,
                                                                               protocol::WebSocket::Options options);
  /// Opens a WebSocket for events and bytes of commands: subprotocol skiff.v1.binary.
  [[nodiscard]] Task<Result<std::unique_ptr<protocol::WebSocket>>> open_socket(std::string path);

  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }

 private:
  /// Begins a span for one request; the agent's spans are parts of it.
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
  Span upload_;  ///< span of the upload that is under way
};

/// The error that an unsuccessful answer means: the agent's own error, or that of a server on the way to it.
[[nodiscard]] Error refusal(const protocol::HttpResponseHead& head, const std::string& body);

/// The error for an answer that no agent gives: invalid_request, "what answers there is not skiffd: WHAT".
[[nodiscard]] Error foreign_answer(const std::string& what);

/// Read fields of an agent's answer, which is not trusted: a field that is absent or has another type is empty. Use
/// `AgentAnswer` where a wrong type must be an error.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* key);
[[nodiscard]] std::optional<std::uint64_t> number_at(const nlohmann::json& object, const char* key);
[[nodiscard]] std::optional<bool> flag_at(const nlohmann::json& object, const char* key);
/// Null when the field is not an object.
[[nodiscard]] nlohmann::json object_at(const nlohmann::json& object, const char* key);

/// /v1/sessions/SESSION/commands/COMMAND
[[nodiscard]] std::string command_path(std::string_view session, std::string_view command);

/// True for an error after which a new connection may help: our connection or a gateway's has broken.
[[nodiscard]] bool is_broken_connection(const Error& error) noexcept;

}  // namespace skiff::container
