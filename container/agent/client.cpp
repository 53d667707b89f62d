#include "container/agent/client.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/copy/clock_difference.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/websocket/handshake.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::Headers;
using protocol::HttpResponseHead;

constexpr std::string_view kBytes = "application/octet-stream";
constexpr const char* kStatusCode = "http.response.status_code";
constexpr std::size_t kLongestAnswer = std::size_t{64} << 20U;
constexpr std::size_t kLongestProblem = std::size_t{64} << 10U;
/// Longer than the agent is silent during a long answer: it sends something every 15 s.
constexpr std::chrono::milliseconds kSilence{60'000};

bool is_agents_own(const HttpResponseHead& head) {
  return head.headers.get("Content-Type").starts_with(protocol::kProblemType);
}

/// Larger than any honest list: an agent whose list never ends must not fill our memory.
constexpr std::size_t kMostItems = 1'000'000;
constexpr int kMostPages = 10'000;

std::unexpected<Error> nonsense(const std::string& what) {
  return std::unexpected{foreign_answer(what)};
}

const json* value_at(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// True when a server on the way refuses WebSockets, and will refuse the next one too.
bool lets_no_socket_through(const HttpResponseHead& head, const Error& error) {
  // The agent received the request without the upgrade: a proxy removed it.
  if (error.code == Errc::upgrade_required) return true;
  return !is_agents_own(head) && head.status < 500 && head.status != 401;
}

protocol::HttpClientOptions options_for(const Endpoint& endpoint) {
  protocol::HttpClientOptions options = endpoint.client;
  options.idle_time = kSilence;
  return options;
}

/// A likely reason why the agent refused a token that was created for it: another key or another clock. Empty when the
/// answer does not say.
std::string likely_reason(const HttpResponseHead& head, const std::string& detail) {
  if (head.status != 401) return {};
  if (detail.contains("by none of the configured keys")) {
    return "; it was created with a signing key that no longer exists (was the Secret or the key file replaced?): "
           "`skiff stop NAME && skiff start NAME` gives it the current key";
  }
  const auto difference = clock_difference(head.headers, wall_now());
  if (!difference || (*difference >= -kMostClockDifference && *difference <= kMostClockDifference)) return {};
  return "; its clock is " + clock_words(*difference);
}

}  // namespace

Error foreign_answer(const std::string& what) {
  return {Errc::invalid_request, "what answers there is not skiffd: " + what};
}

std::string text_at(const json& object, const char* key) {
  const json* value = value_at(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string{};
}

std::optional<std::uint64_t> number_at(const json& object, const char* key) {
  const json* value = value_at(object, key);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::uint64_t>();
}

std::optional<bool> flag_at(const json& object, const char* key) {
  const json* value = value_at(object, key);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

json object_at(const json& object, const char* key) {
  const json* value = value_at(object, key);
  return value != nullptr && value->is_object() ? *value : json{};
}

Error refusal(const HttpResponseHead& head, const std::string& body) {
  const json said = protocol::parse_json(body).value_or(json{});
  std::string detail = text_at(said, "detail");
  if (is_agents_own(head) && said.is_object()) {
    // An agent in an image may be newer than this client and send codes that this client does not know.
    const Errc unknown = head.status >= 500 ? Errc::io_error : Errc::invalid_request;
    const std::string reason = likely_reason(head, detail);
    if (detail.empty()) detail = text_at(said, "title");
    return {find_code(text_at(said, "code")).value_or(unknown), std::move(detail) + reason, text_at(said, "field")};
  }
  // Not the agent's answer, but that of a router (`detail`), the API server's proxy (`message`) or another server on
  // the way.
  if (detail.empty()) detail = text_at(said, "message");
  if (!detail.empty()) detail.insert(0, ": ");
  return {head.status == 401 ? Errc::unauthenticated : Errc::io_error,
          "what answers there is not skiffd: " + std::to_string(head.status) + " " + head.reason + detail};
}

AgentClient::AgentClient(Executor executor, Endpoint endpoint)
    : executor_{executor}, endpoint_{std::move(endpoint)}, http_{executor, options_for(endpoint_)} {}
AgentClient::~AgentClient() = default;

Span AgentClient::begin_span(const std::string& method, const std::string& path) const {
  if (!endpoint_.trace) return {};
  // Span names must be few, so they contain the beginning of the path only, and no ids.
  const std::size_t version = path.find('/', 1);
  const std::string kind = path.substr(0, path.find_first_of("/?:", version == std::string::npos ? 1 : version + 1));
  Span span = endpoint_.trace.begin(method + " " + kind, SpanKind::client);
  span.set("http.request.method", method);
  span.set("url.path", path.substr(0, path.find('?')));
  span.set("server.address", endpoint_.client.host);
  return span;
}

Task<Result<Headers>> AgentClient::headers(const Span* span) const {
  Headers all = endpoint_.headers;
  if (endpoint_.fresh_headers) {
    auto fresh = co_await endpoint_.fresh_headers();
    if (!fresh) co_return fresh;
    all.append(*fresh);
  }
  const TraceParent here = span->here();
  if (endpoint_.trace) all.set("traceparent", (here ? here : endpoint_.trace).traceparent());
  SKIFF_CO_TRY(auto token, endpoint_.token());
  // Not Authorization, which the API server's proxy and gateways remove.
  if (!token.empty()) all.add("X-Skiff-Token", token);
  co_return all;
}

Task<Result<json>> AgentClient::read_answer(HttpResponseHead head, Span* span) {
  span->set(kStatusCode, head.status);
  const bool refused = head.status >= 400;
  auto body = co_await http_.read_body(refused ? kLongestProblem : kLongestAnswer);
  span->note(body);
  if (!body) co_return std::unexpected{std::move(body.error())};
  if (refused || head.status < 200) {
    Error error = refusal(head, *body);
    span->fail(error);
    co_return std::unexpected{std::move(error)};
  }
  if (body->empty()) co_return json{};
  auto answer = protocol::parse_json(*body, {.max_bytes = kLongestAnswer});
  if (!answer) co_return nonsense(answer.error().message);
  if (!answer->is_object()) co_return nonsense("its answer is not a JSON object");
  co_return answer;
}

Task<Result<json>> AgentClient::send(std::string method, std::string path, std::string type, std::string body) {
  // Input of a command comes in many small pieces, which are not worth a span each.
  Span span = type == kBytes ? Span{} : begin_span(method, path);
  SKIFF_CO_TRY(auto with, co_await headers(&span));
  if (!type.empty()) with.add("Content-Type", type);
  protocol::HttpClient::Request request{.method = std::move(method),
                                        .target = endpoint_.path_prefix + path,
                                        .headers = std::move(with),
                                        .body = std::move(body)};
  if (request.method != "GET") co_return co_await send_once(std::move(request), &span);
  protocol::HttpClient::Request again = request;
  auto answer = co_await send_once(std::move(request), &span);
  // Repeat only when the answer was cut in the middle of its body: an earlier io_error may mean that there is no
  // connection at all.
  if (answer || !http_.was_cut()) co_return answer;
  co_return co_await send_once(std::move(again), &span);
}

Task<Result<json>> AgentClient::send_once(protocol::HttpClient::Request request, Span* span) {
  auto head = co_await http_.open(std::move(request));
  span->note(head);
  if (!head) co_return std::unexpected{std::move(head.error())};
  co_return co_await read_answer(std::move(*head), span);
}

Task<Result<json>> AgentClient::get_items(std::string path) {
  json items = json::array();
  auto take = [&items](json item) { items.push_back(std::move(item)); };
  SKIFF_CO_TRY_VOID(co_await each_item(std::move(path), std::move(take)));
  co_return items;
}

Task<Result<>> AgentClient::each_item(std::string path, std::function<void(json item)> take) {
  std::string cursor;
  std::size_t items = 0;
  int pages = 0;
  do {
    std::string next = path;
    if (!cursor.empty()) (next += path.contains('?') ? "&cursor=" : "?cursor=") += protocol::percent_encode(cursor);
    auto page = co_await get(std::move(next));
    if (!page) co_return std::unexpected{std::move(page.error())};
    const json* some = value_at(*page, "items");
    if (some == nullptr || !some->is_array()) co_return nonsense("its list has no items");
    for (const json& item : *some) {
      if (!item.is_object()) co_return nonsense("an item of its list is not an object");
      take(item);
    }
    items += some->size();
    const std::string before = std::exchange(cursor, text_at(*page, "next_cursor"));
    const bool is_endless = cursor == before || items > kMostItems || ++pages > kMostPages;
    if (!cursor.empty() && is_endless) co_return nonsense("its list has no end");
  } while (!cursor.empty());
  co_return Result<>{};
}

Task<Result<json>> AgentClient::get(std::string path) {
  co_return co_await send("GET", std::move(path), {}, {});
}

Task<Result<json>> AgentClient::post(std::string path, std::string body) {
  co_return co_await send("POST", std::move(path), "application/json", std::move(body));
}

Task<Result<json>> AgentClient::patch(std::string path, std::string body) {
  co_return co_await send("PATCH", std::move(path), "application/json", std::move(body));
}

Task<Result<>> AgentClient::remove(std::string path) {
  SKIFF_CO_TRY_VOID(co_await send("DELETE", std::move(path), {}, {}));
  co_return Result<>{};
}

Task<Result<>> AgentClient::post_bytes(std::string path, std::string bytes) {
  SKIFF_CO_TRY_VOID(co_await send("POST", std::move(path), std::string{kBytes}, std::move(bytes)));
  co_return Result<>{};
}

Task<Result<HttpResponseHead>> AgentClient::open(std::string path, Headers more) {
  Span span = begin_span("GET", path);
  SKIFF_CO_TRY(auto with, co_await headers(&span));
  with.append(more);
  protocol::HttpClient::Request request{.target = endpoint_.path_prefix + path, .headers = std::move(with)};
  auto head = co_await http_.open(std::move(request));
  span.note(head);
  if (head) span.set(kStatusCode, head->status);
  if (!head || head->status < 400) co_return head;
  SKIFF_CO_TRY(auto body, co_await http_.read_body(kLongestProblem));
  Error error = refusal(*head, body);
  span.fail(error);
  co_return std::unexpected{std::move(error)};
}

Task<Result<HttpResponseHead>> AgentClient::exchange(protocol::HttpClient::Request request) {
  Span span = begin_span(request.method, request.target);
  SKIFF_CO_TRY(auto with, co_await headers(&span));
  with.append(request.headers);
  request.headers = std::move(with);
  request.target.insert(0, endpoint_.path_prefix);
  auto head = co_await http_.open(std::move(request));
  span.note(head);
  if (head) span.set(kStatusCode, head->status);
  co_return head;
}

Task<Result<>> AgentClient::begin_upload(std::string path) {
  upload_ = begin_span("PUT", path);
  SKIFF_CO_TRY(auto with, co_await headers(&upload_));
  with.add("Content-Type", kBytes);
  protocol::HttpClient::Request request{
      .method = "PUT", .target = endpoint_.path_prefix + path, .headers = std::move(with)};
  auto begun = co_await http_.start(std::move(request));
  upload_.note(begun);
  co_return begun;
}

Task<Result<json>> AgentClient::end_upload() {
  // The agent may have refused early and closed: its answer says more than the failed write.
  (void)co_await http_.finish();
  auto head = co_await http_.read_head();
  upload_.note(head);
  if (!head) co_return std::unexpected{std::move(head.error())};
  Span span = std::move(upload_);
  co_return co_await read_answer(std::move(*head), &span);
}

Task<Result<std::unique_ptr<protocol::WebSocket>>> AgentClient::open_socket(std::string path) {
  return open_socket(std::move(path), "skiff.v1.binary",
                     {.side = protocol::Side::client, .max_message_bytes = std::size_t{4} << 20U});
}

Task<Result<std::unique_ptr<protocol::WebSocket>>> AgentClient::open_socket(std::string path, std::string subprotocol,
                                                                            protocol::WebSocket::Options options) {
  Span span = begin_span("GET", path);
  auto socket = co_await upgrade(std::move(path), std::move(subprotocol), options, &span);
  span.note(socket);
  co_return socket;
}

Task<Result<std::unique_ptr<protocol::WebSocket>>> AgentClient::upgrade(std::string path, std::string subprotocol,
                                                                        protocol::WebSocket::Options options,
                                                                        Span* span) {
  SKIFF_CO_TRY(auto with, co_await headers(span));
  const protocol::ClientHandshake handshake{{subprotocol}};
  for (const auto& [name, value] : handshake.headers()) with.add(name, value);
  protocol::HttpClient client{executor_, options_for(endpoint_)};
  protocol::HttpClient::Request request{.target = endpoint_.path_prefix + path, .headers = std::move(with)};
  SKIFF_CO_TRY(auto head, co_await client.open(std::move(request)));
  span->set(kStatusCode, head.status);
  if (head.status != 101) {
    auto body = co_await client.read_body(kLongestProblem);
    Error error = refusal(head, body.value_or(""));
    if (!lets_no_socket_through(head, error)) co_return std::unexpected{std::move(error)};
    co_return fail(Errc::not_supported, "the agent cannot be reached by a WebSocket through " + endpoint_.url + ": " +
                                            std::to_string(head.status) + " " + head.reason +
                                            "; try another way with `--reach port-forward` or `--reach proxy`");
  }
  auto agreed =
      handshake.check(head.status, [&](std::string_view name) { return std::string{head.headers.get(name)}; });
  if (!agreed) co_return std::unexpected{std::move(agreed.error())};
  protocol::Upgraded upgraded = client.take_upgraded();
  co_return std::make_unique<protocol::WebSocket>(std::move(upgraded.stream), std::move(upgraded.buffered), options);
}

std::string command_path(std::string_view session, std::string_view command) {
  return "/v1/sessions/" + protocol::percent_encode(session) + "/commands/" + protocol::percent_encode(command);
}

bool is_broken_connection(const Error& error) noexcept {
  return error.code == Errc::io_error || error.code == Errc::timeout || error.code == Errc::cancelled ||
         error.code == Errc::bad_gateway;
}

}  // namespace skiff::container
