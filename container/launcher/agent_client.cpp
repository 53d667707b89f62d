#include "container/launcher/agent_client.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/problem.hpp"
#include "protocol/schema.hpp"
#include "protocol/target.hpp"
#include "protocol/websocket_handshake.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::Headers;
using protocol::HttpResponseHead;

constexpr std::size_t kLongestAnswer = std::size_t{64} << 20U;
constexpr std::size_t kLongestProblem = std::size_t{64} << 10U;
/// Longer than the agent is silent in a long answer: it says something each 15 s.
constexpr std::chrono::milliseconds kSilence{60'000};

Error refusal(const HttpResponseHead& head, const std::string& body) {
  if (head.headers.get("Content-Type").starts_with(protocol::kProblemType)) {
    if (auto problem = protocol::parse_json(body); problem && problem->is_object()) {
      const auto text = [&](const char* key) { return problem->value(key, json{}); };
      const auto string = [&](const char* key) { return text(key).is_string() ? text(key).get<std::string>() : ""; };
      std::string detail = string("detail");
      // An agent in an image may be newer than this client and have codes that are not known here.
      const Errc unknown = head.status >= 500 ? Errc::io_error : Errc::invalid_request;
      return {find_code(string("code")).value_or(unknown), detail.empty() ? string("title") : std::move(detail),
              string("field")};
    }
  }
  // Not the agent's own words: a proxy or another server on the way.
  return {head.status == 401 ? Errc::unauthenticated : Errc::io_error,
          "what answers there is no skiffd: " + std::to_string(head.status) + " " + head.reason};
}

protocol::HttpClientOptions options_for(const Endpoint& endpoint) {
  protocol::HttpClientOptions options = endpoint.client;
  options.idle_time = kSilence;
  return options;
}

}  // namespace

AgentClient::AgentClient(Executor executor, Endpoint endpoint)
    : executor_{executor}, endpoint_{std::move(endpoint)}, http_{executor, options_for(endpoint_)} {}
AgentClient::~AgentClient() = default;

Result<Headers> AgentClient::headers() const {
  Headers all = endpoint_.headers;
  auto token = endpoint_.token();
  if (!token) return std::unexpected{std::move(token.error())};
  // Not Authorization: an API server's proxy and gateways take that one away.
  all.add("X-Skiff-Token", *token);
  return all;
}

Task<Result<json>> AgentClient::read_answer(HttpResponseHead head) {
  const bool refused = head.status >= 400;
  auto body = co_await http_.read_body(refused ? kLongestProblem : kLongestAnswer);
  if (!body) co_return std::unexpected{std::move(body.error())};
  if (refused || head.status < 200) co_return std::unexpected{refusal(head, *body)};
  if (body->empty()) co_return json{};
  co_return protocol::parse_json(*body, {.max_bytes = kLongestAnswer});
}

Task<Result<json>> AgentClient::send(std::string method, std::string path, std::string type, std::string body) {
  auto with = headers();
  if (!with) co_return std::unexpected{std::move(with.error())};
  if (!type.empty()) with->add("Content-Type", type);
  protocol::HttpClient::Request request{.method = std::move(method),
                                        .target = endpoint_.path_prefix + path,
                                        .headers = std::move(*with),
                                        .body = std::move(body)};
  auto head = co_await http_.open(std::move(request));
  if (!head) co_return std::unexpected{std::move(head.error())};
  co_return co_await read_answer(std::move(*head));
}

Task<Result<json>> AgentClient::get(std::string path) {
  co_return co_await send("GET", std::move(path), {}, {});
}

Task<Result<json>> AgentClient::post(std::string path, std::string body) {
  co_return co_await send("POST", std::move(path), "application/json", std::move(body));
}

Task<Result<>> AgentClient::remove(std::string path) {
  auto done = co_await send("DELETE", std::move(path), {}, {});
  if (!done) co_return std::unexpected{std::move(done.error())};
  co_return Result<>{};
}

Task<Result<>> AgentClient::post_bytes(std::string path, std::string bytes) {
  auto done = co_await send("POST", std::move(path), "application/octet-stream", std::move(bytes));
  if (!done) co_return std::unexpected{std::move(done.error())};
  co_return Result<>{};
}

Task<Result<HttpResponseHead>> AgentClient::open(std::string path) {
  auto with = headers();
  if (!with) co_return std::unexpected{std::move(with.error())};
  protocol::HttpClient::Request request{.target = endpoint_.path_prefix + path, .headers = std::move(*with)};
  auto head = co_await http_.open(std::move(request));
  if (!head || head->status < 400) co_return head;
  auto body = co_await http_.read_body(kLongestProblem);
  if (!body) co_return std::unexpected{std::move(body.error())};
  co_return std::unexpected{refusal(*head, *body)};
}

Task<Result<>> AgentClient::begin_upload(std::string path) {
  auto with = headers();
  if (!with) co_return std::unexpected{std::move(with.error())};
  with->add("Content-Type", "application/octet-stream");
  protocol::HttpClient::Request request{
      .method = "PUT", .target = endpoint_.path_prefix + path, .headers = std::move(*with)};
  co_return co_await http_.start(std::move(request));
}

Task<Result<json>> AgentClient::end_upload() {
  // The agent may have refused early, and closed: its answer says more than a failed write.
  (void)co_await http_.finish();
  auto head = co_await http_.read_head();
  if (!head) co_return std::unexpected{std::move(head.error())};
  co_return co_await read_answer(std::move(*head));
}

Task<Result<std::unique_ptr<protocol::WebSocket>>> AgentClient::open_socket(std::string path) {
  auto with = headers();
  if (!with) co_return std::unexpected{std::move(with.error())};
  const protocol::ClientHandshake handshake{{"skiff.v1.binary"}};
  for (const auto& [name, value] : handshake.headers()) with->add(name, value);
  protocol::HttpClient client{executor_, options_for(endpoint_)};
  protocol::HttpClient::Request request{.target = endpoint_.path_prefix + path, .headers = std::move(*with)};
  auto head = co_await client.open(std::move(request));
  if (!head) co_return std::unexpected{std::move(head.error())};
  if (head->status != 101) {
    auto body = co_await client.read_body(kLongestProblem);
    co_return std::unexpected{refusal(*head, body.value_or(""))};
  }
  auto agreed =
      handshake.check(head->status, [&](std::string_view name) { return std::string{head->headers.get(name)}; });
  if (!agreed) co_return std::unexpected{std::move(agreed.error())};
  protocol::Upgraded upgraded = client.take_upgraded();
  co_return std::make_unique<protocol::WebSocket>(
      std::move(upgraded.stream), std::move(upgraded.buffered),
      protocol::WebSocket::Options{.side = protocol::Side::client, .max_message_bytes = std::size_t{4} << 20U});
}

std::string command_path(std::string_view session, std::string_view command) {
  return "/v1/sessions/" + protocol::percent_encode(session) + "/commands/" + protocol::percent_encode(command);
}

bool is_broken_connection(const Error& error) noexcept {
  return error.code == Errc::io_error || error.code == Errc::timeout || error.code == Errc::cancelled;
}

}  // namespace skiff::container
