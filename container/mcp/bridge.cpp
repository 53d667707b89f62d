#include "container/mcp/bridge.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "container/agent/stream/event_stream.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr const char* kPath = "/mcp";
constexpr std::size_t kLargestAnswer = std::size_t{64} << 20U;
constexpr const char* kRevision = "io.modelcontextprotocol/protocolVersion";
/// An unused sandbox may end by itself: this interval is shorter than any sensible idle time.
constexpr std::chrono::seconds kUseTime{60};
constexpr std::chrono::seconds kBeforeNextTry{1};
constexpr int kMostResumptions = 5;
constexpr std::chrono::seconds kFarewell{3};

const json& member(const json& object, const char* name) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string line_of(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The protocol sends a value that cannot be in a header field as base64.
std::string field_value(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; }) &&
                        !text.starts_with(' ') && !text.ends_with(' ') && !text.starts_with("=?base64?");
  return is_plain ? text : "=?base64?" + protocol::encode_base64(text) + "?=";
}

// Messages from a sandbox are not trusted. Our server sends no requests to its client, so requests (sampling,
// elicitation, roots) are never passed on, nor are answers without a request.

bool is_answer(const json& message) {
  return text_at(message, "jsonrpc") == "2.0" && !message.contains("method") && message.contains("id") &&
         message.contains("result") != message.contains("error");
}

/// True for a notification in a stream that belongs to the request `id`, or to none. It may cancel only that request.
bool is_notification(const json& message, const std::string& id) {
  const std::string method = text_at(message, "method");
  if (text_at(message, "jsonrpc") != "2.0" || !method.starts_with("notifications/") || message.contains("id") ||
      message.contains("result") || message.contains("error")) {
    return false;
  }
  return method != "notifications/cancelled" || line_of(member(member(message, "params"), "requestId")) == id;
}

}  // namespace

/// One message on its way.
struct McpBridge::Request {
  json message;
  std::string id = {};  ///< as JSON; empty: the message gets no answer
  std::string method = {};
  std::string revision = {};  ///< revision that the request itself names; such a request has no session
  std::unique_ptr<AgentClient> agent = {};
  bool was_taken = false;  ///< the agent has begun to answer
  bool cancelled = false;
};

McpBridge::McpBridge(Executor executor, Bring bring, Write write, std::string notice)
    : executor_{executor},
      bring_{std::move(bring)},
      write_{std::move(write)},
      notice_{std::move(notice)},
      tasks_{executor},
      changed_{executor} {}
McpBridge::~McpBridge() = default;

void McpBridge::say(const json& message) {
  write_(line_of(message) + '\n');
}

void McpBridge::say_answer(const Request& request, const json& answer) {
  json said{{"jsonrpc", "2.0"}, {"id", member(request.message, "id")}};
  const char* const kind = answer.contains("result") ? "result" : "error";
  said[kind] = answer[kind];
  const bool instructs = request.method == "initialize" || request.method == "server/discover";
  if (instructs && !notice_.empty() && said["result"].is_object()) {
    const std::string told = text_at(said["result"], "instructions");
    said["result"]["instructions"] = notice_ + (told.empty() ? "" : " " + told);
  }
  say(said);
}

void McpBridge::answer_with(const Request& request, const Error& error) {
  if (request.id.empty() || request.cancelled) return;
  say({{"jsonrpc", "2.0"},
       {"id", member(request.message, "id")},
       {"error", {{"code", -32603}, {"message", error.message}, {"data", {{"code", name(error.code)}}}}}});
}

void McpBridge::take(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  auto parsed = protocol::parse_json(line, {.max_bytes = kLongestLine});
  if (!parsed || !parsed->is_object()) {
    const int code = parsed ? -32600 : -32700;
    const std::string why = parsed ? "a line must be one JSON object" : parsed.error().message;
    return say({{"jsonrpc", "2.0"}, {"id", nullptr}, {"error", {{"code", code}, {"message", why}}}});
  }
  auto request = std::make_shared<Request>();
  request->message = std::move(*parsed);
  request->method = text_at(request->message, "method");
  request->revision = text_at(member(member(request->message, "params"), "_meta"), kRevision);
  if (request->method == "notifications/cancelled") return cancel(request->message);
  if (!request->method.empty() && request->message.contains("id")) {
    request->id = line_of(request->message["id"]);
    if (requests_.contains(request->id) || requests_.size() >= kMostRequests) {
      return answer_with(
          *request, {Errc::resource_exhausted, requests_.contains(request->id) ? "a request with this id is under way"
                                                                               : "too many requests are under way"});
    }
    requests_.emplace(request->id, request);
  }
  // Drop notifications when there are that many.
  if (request->id.empty() && tasks_.size() > 4 * kMostRequests) return;
  tasks_.spawn("mcp message", forward(std::move(request)));
}

void McpBridge::cancel(const json& message) {
  const auto found = requests_.find(line_of(member(member(message, "params"), "requestId")));
  if (found == requests_.end()) return;
  const std::shared_ptr<Request> request = found->second;
  request->cancelled = true;
  if (!request->revision.empty()) {
    // In that revision, closing the connection cancels the request.
    if (request->agent) request->agent->http().close();
    return;
  }
  auto notice = std::make_shared<Request>();
  notice->message = message;
  notice->method = "notifications/cancelled";
  tasks_.spawn("mcp cancel", [](McpBridge* self, std::shared_ptr<Request> of, std::shared_ptr<Request> told) -> Task<> {
    // The cancellation must not overtake its request.
    while (!of->was_taken && self->requests_.contains(of->id)) co_await self->changed_.wait();
    co_await self->forward(std::move(told));
  }(this, request, std::move(notice)));
}

Task<> McpBridge::forward(std::shared_ptr<Request> request) {
  Result<> done = co_await ready();
  // Messages after `initialize` belong to the session that its answer names, so wait for it.
  while (done && belongs_to_session(*request) && is_greeting()) co_await changed_.wait();
  if (done && !request->cancelled) done = co_await exchange(request);
  if (!done) answer_with(*request, done.error());
  if (const auto found = requests_.find(request->id); found != requests_.end() && found->second == request) {
    requests_.erase(found);
  }
  changed_.notify_all();
}

bool McpBridge::belongs_to_session(const Request& request) {
  return request.revision.empty() && request.method != "initialize";
}

bool McpBridge::is_greeting() const {
  return std::ranges::any_of(requests_, [](const auto& one) { return one.second->method == "initialize"; });
}

Task<Result<>> McpBridge::ready() {
  if (!endpoint_ && !std::exchange(bringing_, true)) co_await bring_up();
  while (!endpoint_) co_await changed_.wait();
  if (!*endpoint_) co_return std::unexpected{endpoint_->error()};
  co_return Result<>{};
}

Task<> McpBridge::bring_up() {
  endpoint_ = co_await bring_();
  if (*endpoint_) tasks_.spawn("mcp use", stay_in_use());
  changed_.notify_all();
}

protocol::Headers McpBridge::fields(const Request* request) const {
  protocol::Headers all{{"Accept", "application/json, text/event-stream"}};
  const bool is_stateless = request != nullptr && !request->revision.empty();
  if (request != nullptr) all.add("Content-Type", "application/json");
  if (is_stateless) {
    const json& params = member(request->message, "params");
    all.add("MCP-Protocol-Version", request->revision);
    all.add("Mcp-Method", request->method);
    const std::string name = text_at(params, request->method == "resources/read" ? "uri" : "name");
    if (!name.empty()) all.add("Mcp-Name", field_value(name));
    return all;
  }
  if (request != nullptr && request->method == "initialize") return all;
  if (!revision_.empty()) all.add("MCP-Protocol-Version", revision_);
  if (!session_.empty()) all.add("Mcp-Session-Id", session_);
  return all;
}

Task<Result<>> McpBridge::exchange(std::shared_ptr<Request> request) {
  request->agent = std::make_unique<AgentClient>(executor_, **endpoint_);
  protocol::HttpClient::Request post{
      .method = "POST", .target = kPath, .headers = fields(request.get()), .body = line_of(request->message)};
  auto head = co_await request->agent->exchange(std::move(post));
  request->was_taken = true;
  changed_.notify_all();
  if (!head) co_return std::unexpected{std::move(head.error())};
  co_return co_await relay(std::move(request), std::move(*head));
}

Task<Result<>> McpBridge::relay(std::shared_ptr<Request> request, protocol::HttpResponseHead head) {
  AgentClient& agent = *request->agent;
  if (head.status == 202) co_return Result<>{};
  if (head.headers.get("Content-Type").starts_with("text/event-stream")) {
    EventStream events;
    auto answered = co_await relay_events(&agent, &events, request->id);
    if ((!answered || !*answered) && !request->cancelled) answered = co_await resume(request, &events);
    if (!answered) co_return std::unexpected{std::move(answered.error())};
    co_return Result<>{};
  }
  SKIFF_CO_TRY(auto body, co_await agent.http().read_body(kLargestAnswer));
  auto answer = protocol::parse_json(body, {.max_bytes = kLargestAnswer});
  if (!answer || !is_answer(*answer)) co_return std::unexpected{refusal(head, body)};
  if (request->id.empty() || request->cancelled) co_return Result<>{};
  if (request->method == "initialize" && head.status == 200) {
    session_ = head.headers.get("Mcp-Session-Id");
    revision_ = text_at(member(*answer, "result"), "protocolVersion");
    if (!session_.empty()) tasks_.spawn("mcp news", hear_news());
  }
  say_answer(*request, *answer);
  co_return Result<>{};
}

Task<Result<bool>> McpBridge::relay_events(AgentClient* agent, EventStream* events, std::string id) {
  std::array<char, 65536> block{};
  for (;;) {
    SKIFF_CO_TRY(auto got, co_await agent->http().read_some(block));
    if (got == 0) co_return false;
    if (!events->push({block.data(), got})) co_return std::unexpected{foreign_answer("an event has no end")};
    while (const auto data = events->next()) {
      auto message = protocol::parse_json(*data, {.max_bytes = kLargestAnswer});
      if (!message) continue;
      if (is_notification(*message, id)) say(*message);
      if (id.empty() || !is_answer(*message) || line_of(member(*message, "id")) != id) continue;
      const auto request = requests_.find(id);
      if (request != requests_.end() && !request->second->cancelled) say_answer(*request->second, *message);
      co_return true;
    }
  }
}

/// The connection broke before the answer came: the agent keeps what is left of the stream for a while.
Task<Result<bool>> McpBridge::resume(std::shared_ptr<Request> request, EventStream* events) {
  if (!request->revision.empty() && request->method == "subscriptions/listen") {
    say({{"jsonrpc", "2.0"},
         {"method", "notifications/cancelled"},
         {"params", {{"requestId", member(request->message, "id")}, {"reason", "the sandbox has closed the stream"}}}});
    co_return true;
  }
  for (int i = 0; i < kMostResumptions && request->revision.empty() && !events->last_id().empty(); ++i) {
    co_await pause(kBeforeNextTry);
    protocol::HttpClient::Request get{.target = kPath, .headers = fields(nullptr)};
    get.headers.add("Last-Event-ID", events->last_id());
    request->agent->http().close();
    auto head = co_await request->agent->exchange(std::move(get));
    if (request->cancelled || (head && head->status != 200)) break;
    if (!head) continue;
    auto answered = co_await relay_events(request->agent.get(), events, request->id);
    if (answered && *answered) co_return true;
  }
  co_return fail(Errc::io_error, "the connection to the sandbox broke before the answer came");
}

Task<> McpBridge::hear_news() {
  EventStream events;
  for (int tries = 0; tries < kMostResumptions; ++tries) {
    AgentClient agent{executor_, **endpoint_};
    protocol::HttpClient::Request get{.target = kPath, .headers = fields(nullptr)};
    if (!events.last_id().empty()) get.headers.add("Last-Event-ID", events.last_id());
    auto head = co_await agent.exchange(std::move(get));
    if (head && head->status != 200) co_return;
    if (head) {
      tries = 0;
      (void)co_await relay_events(&agent, &events, {});
    }
    co_await pause(kBeforeNextTry);
  }
}

/// Keeps the sandbox in use while the client is connected.
Task<> McpBridge::stay_in_use() {
  AgentClient agent{executor_, **endpoint_};
  for (;;) {
    co_await pause(kUseTime);
    (void)co_await agent.get("/v1/version");
  }
}

Task<> McpBridge::idle() {
  const auto listens = [](const auto& one) { return one.second->method == "subscriptions/listen"; };
  while (!std::ranges::all_of(requests_, listens)) co_await changed_.wait();
}

Task<> McpBridge::close() {
  tasks_.cancel();
  co_await tasks_.join();
  if (session_.empty()) co_return;
  AgentClient agent{executor_, **endpoint_};
  protocol::HttpClient::Request farewell{.method = "DELETE", .target = kPath, .headers = fields(nullptr)};
  (void)co_await within(std::chrono::steady_clock::now() + kFarewell, agent.exchange(std::move(farewell)));
}

}  // namespace skiff::container
