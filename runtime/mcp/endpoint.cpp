#include "runtime/mcp/endpoint.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "protocol/json/schema.hpp"
#include "protocol/json/sse.hpp"
#include "runtime/mcp/delivery.hpp"
#include "runtime/mcp/headers.hpp"
#include "runtime/mcp/methods.hpp"
#include "runtime/mcp/tools/resources.hpp"
#include "runtime/mcp/tools/tools.hpp"

namespace skiff::runtime::mcp {
namespace {

using api::Call;

constexpr std::size_t kLargestBatch = 32;

/// Answers a refused request with a JSON-RPC error.
Task<Result<>> refuse(Call* call, unsigned status, const std::string& id, const RpcError& error) {
  return call->json(status, error_message(id, error));
}

Task<Result<>> accepted(Call* call) {
  protocol::HttpResponse response{202};
  co_return co_await call->http.respond(std::move(response));
}

/// The holder of the credential: sessions belong to it, and count against its limits.
std::string who_asks(const Identity& identity) {
  return holder_of(identity);
}

/// The client of a request, in a revision with a handshake, or the refusal if there is none.
struct FromClient {
  std::shared_ptr<Client> client = {};
  unsigned status = 200;  ///< of the refusal, when no client was found
  RpcError error = {};
};

FromClient client_of(const Call& call) {
  const auto& headers = call.http.request().headers;
  for (const std::string_view field : {kVersionField, kSessionField}) {
    if (headers.count(field) < 2) continue;
    return {.status = 400,
            .error = {RpcCode::invalid_request, "the header " + std::string{field} + " is there more than once"}};
  }
  if (const auto version = headers.find(kVersionField); version && !find_revision(*version)) {
    return {.status = 400, .error = unsupported_revision(*version)};
  }
  const auto id = headers.find(kSessionField);
  if (!id) {
    return {.status = 400,
            .error = {RpcCode::invalid_request, "the header Mcp-Session-Id is missing: send initialize first"}};
  }
  auto client = call.mcp_clients.find(*id, who_asks(call.identity));
  if (client) return {.client = std::move(client)};
  return {.status = 404,
          .error = {RpcCode::session_not_found, "this session is not there, or is over: send initialize again"}};
}

std::shared_ptr<Request> request_of(Call& call, Message message, Revision revision, std::shared_ptr<Client> client,
                                    std::shared_ptr<Job> job) {
  return std::make_shared<Request>(Request{.agent = call.agent,
                                           .clients = call.mcp_clients,
                                           .caller = {call.identity, call.request_id, call.traceparent},
                                           .message = std::move(message),
                                           .revision = revision,
                                           .client = std::move(client),
                                           .job = std::move(job)});
}

/// Answers a request that cannot begin, for want of room or because its id is in use, as one that has failed: some
/// clients take any other status for the end of their session.
Task<Result<>> turn_down(Call* call, const Request& request, const Error& error) {
  return refuse(call, 200, request.message.id, rpc_error(request, error));
}

/// Handles a message of a revision without sessions. Its request ends with its connection.
Task<Result<>> receive_stateless(Call* call, Message message) {
  if (message.kind == Message::Kind::notification) co_return co_await accepted(call);
  if (message.kind == Message::Kind::response) {
    co_return co_await refuse(call, 400, {}, {RpcCode::invalid_request, "this server sends no requests"});
  }
  const std::string id = message.id;
  if (auto agreed = check_headers(call->http.request().headers, message); !agreed) {
    co_return co_await refuse(call, 400, id, agreed.error());
  }
  auto job = std::make_shared<Job>(call->agent.executor, who_asks(call->identity));
  auto request = request_of(*call, std::move(message), Revision::v2026_07_28, nullptr, job);
  if (auto known = check_method(*request); !known) {
    co_return co_await refuse(call, 404, id, known.error());
  }
  auto begun = call->mcp_clients.start(job, [request] { return answer(request); });
  if (!begun) co_return co_await turn_down(call, *request, begun.error());
  const struct Ending {
    ~Ending() { job.cancel(); }
    Job& job;
  } ending{*job};
  auto sent = co_await deliver(call, {.outbox = job->outbox, .may_be_plain = true});
  call->command_id = job->command;
  co_return sent;
}

Task<Result<>> initialize(Call* call, Message message) {
  const auto asked = find_revision(message.text("protocolVersion"));
  if (message.text("protocolVersion").empty()) {
    co_return co_await refuse(call, 400, message.id,
                              {RpcCode::invalid_params, "params.protocolVersion must say a revision of the protocol"});
  }
  const Revision revision = asked && *asked <= kNewestWithHandshake ? *asked : kNewestWithHandshake;
  const auto client = call->mcp_clients.add(who_asks(call->identity), revision);
  if (!client) {
    co_return co_await refuse(call, 200, message.id, {RpcCode::internal_error, advice_text(client.error())});
  }
  call->http.extra_headers().set(kSessionField, (*client)->id);
  co_return co_await call->json(200, result_message(message.id, initialize_result(revision)));
}

/// Starts the work for a request, or for a batch that begins with it, and sends its messages. `key` is the client's id
/// of it. The work goes on when the connection breaks.
Task<Result<>> work_for(Call* call, std::shared_ptr<Request> request, std::string key, Work work) {
  const std::shared_ptr<Client> client = request->client;
  const std::shared_ptr<Job> job = request->job;
  auto stream = client->begin(key, job);
  if (!stream) co_return co_await turn_down(call, *request, stream.error());
  auto begun =
      call->mcp_clients.start(job, std::move(work), [client, key, stream = *stream] { client->end(key, stream); });
  if (!begun) {
    client->end(key, *stream);
    co_return co_await turn_down(call, *request, begun.error());
  }
  auto sent = co_await deliver(call, {.outbox = job->outbox,
                                      .stream = std::to_string(*stream),
                                      .may_be_plain = true,
                                      .begins_empty = client->revision >= Revision::v2025_11_25});
  call->command_id = job->command;
  co_return sent;
}

/// Handles a notification of a client. A client's answer to a request is ignored, because the server sends none.
void take_notice(Client& client, const Message& message) {
  if (message.method != "notifications/cancelled") return;
  if (const auto id = message.params.find("requestId"); id != message.params.end()) client.cancel(json_of(*id));
}

Task<Result<>> receive_in_session(Call* call, Message message) {
  if (message.kind == Message::Kind::request && message.method == "initialize") {
    co_return co_await initialize(call, std::move(message));
  }
  FromClient from = client_of(*call);
  if (!from.client) co_return co_await refuse(call, from.status, message.id, from.error);
  if (message.kind != Message::Kind::request) {
    take_notice(*from.client, message);
    co_return co_await accepted(call);
  }
  auto job = std::make_shared<Job>(call->agent.executor, from.client->who);
  const Revision revision = from.client->revision;
  auto request = request_of(*call, std::move(message), revision, from.client, std::move(job));
  co_return co_await work_for(call, request, request->message.id, [request] { return answer(request); });
}

/// An element of a batch: a request, or the refusal of what is not a message.
struct Part {
  std::shared_ptr<Request> request = {};
  std::string refusal = {};
};

Task<std::string> answer_all(std::vector<Part> parts) {
  std::string text{'['};
  for (const Part& part : parts) {
    if (text.size() > 1) text += ',';
    text += part.request ? co_await answer(part.request) : part.refusal;
  }
  co_return text + ']';
}

/// Handles a batch of JSON-RPC, which only revision 2025-03-26 has. Its requests run one after the other.
Task<Result<>> receive_batch(Call* call, nlohmann::json values) {
  FromClient from = client_of(*call);
  if (!from.client) co_return co_await refuse(call, from.status, {}, from.error);
  if (from.client->revision != Revision::v2025_03_26 || values.empty() || values.size() > kLargestBatch) {
    co_return co_await refuse(
        call, 400, {}, {RpcCode::invalid_request, "send one message; revision 2025-03-26 has batches of up to 32"});
  }
  auto job = std::make_shared<Job>(call->agent.executor, from.client->who);
  std::vector<Part> parts;
  std::shared_ptr<Request> first;
  std::string id;
  for (const nlohmann::json& value : values) {
    auto message = read_message(value, id);
    if (message && message->method == "initialize") {
      co_return co_await refuse(call, 400, id, {RpcCode::invalid_request, "initialize must not be part of a batch"});
    }
    if (!message) {
      parts.push_back({.refusal = error_message(id, message.error())});
    } else if (message->kind == Message::Kind::request) {
      parts.push_back({.request = request_of(*call, std::move(*message), from.client->revision, from.client, job)});
      if (!first) first = parts.back().request;
    } else {
      take_notice(*from.client, *message);
    }
  }
  if (parts.empty()) co_return co_await accepted(call);
  if (!first) co_return co_await call->json(400, co_await answer_all(std::move(parts)));
  const std::string key = "batch " + first->message.id;
  co_return co_await work_for(call, first, key, [parts] { return answer_all(parts); });
}

std::unexpected<Error> has_post_alone(Call& call) {
  call.http.extra_headers().set("Allow", "POST");
  return fail(Errc::method_not_allowed, "the newest revision has POST alone: subscriptions/listen tells of changes");
}

/// Reads an event id, such as `7-3`: the number of the stream, and that of the last message that the client has.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_event_id(std::string_view text) {
  std::pair<std::uint64_t, std::uint64_t> id;
  const auto [dash, error] = std::from_chars(text.data(), text.data() + text.size(), id.first);
  const char* const end = text.data() + text.size();
  if (error != std::errc{} || dash == end || *dash != '-') return std::nullopt;
  const auto rest = std::from_chars(dash + 1, end, id.second);
  if (rest.ec != std::errc{} || rest.ptr != end) return std::nullopt;
  return id;
}

}  // namespace

Task<Result<>> receive_message(Call& call) {
  const auto& headers = call.http.request().headers;
  if (!accepts(headers, "application/json") || !accepts(headers, protocol::kEventStreamType)) {
    co_return fail(Errc::not_acceptable, "Accept must allow application/json and text/event-stream");
  }
  auto parsed = protocol::parse_json(call.body, {.max_bytes = call.agent.settings.max_json_bytes});
  if (!parsed) co_return co_await refuse(&call, 400, {}, {RpcCode::parse_error, std::move(parsed.error().message)});
  if (parsed->is_array()) co_return co_await receive_batch(&call, std::move(*parsed));
  std::string id;
  auto message = read_message(*parsed, id);
  if (!message) co_return co_await refuse(&call, 400, id, message.error());
  if (is_stateless(headers, *message)) co_return co_await receive_stateless(&call, std::move(*message));
  co_return co_await receive_in_session(&call, std::move(*message));
}

Task<Result<>> send_news(Call& call) {
  const auto& request = call.http.request();
  const auto& headers = request.headers;
  // The dispatcher checks the Origin of requests that change something. The protocol requires the check for this GET,
  // too.
  auto allowed = call.agent.access.browser_guard.check_origin(headers.find("Origin"),
                                                              call.http.is_tls() ? "https" : "http", request.host);
  if (!allowed) co_return allowed;
  if (request.method == "HEAD" || is_stateless(headers, {})) co_return has_post_alone(call);
  if (!accepts(headers, protocol::kEventStreamType)) {
    co_return fail(Errc::not_acceptable, "Accept must allow text/event-stream");
  }
  FromClient from = client_of(call);
  if (!from.client) co_return co_await refuse(&call, from.status, {}, from.error);
  const std::shared_ptr<Client> client = from.client;
  Delivery delivery{.outbox = client->news, .after = client->news->sent(), .stream = "0"};
  if (const auto last = headers.find("Last-Event-ID")) {
    const auto id = parse_event_id(*last);
    const auto outbox = id ? client->stream(id->first) : nullptr;
    if (!outbox) {
      co_return co_await refuse(
          &call, 400, {},
          {RpcCode::invalid_request, "the stream of Last-Event-ID is no longer kept: send the request again"});
    }
    delivery = {.outbox = outbox, .after = id->second, .stream = std::to_string(id->first)};
  }
  const struct Listening {
    explicit Listening(Client& one) : client{one} { ++client.listeners; }
    ~Listening() {
      --client.listeners;
      client.last_used = std::chrono::steady_clock::now();
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    Client& client;
  } listening{*client};
  co_return co_await deliver(&call, std::move(delivery));
}

Task<Result<>> end_session(Call& call) {
  if (is_stateless(call.http.request().headers, {})) co_return has_post_alone(call);
  FromClient from = client_of(call);
  if (!from.client) co_return co_await refuse(&call, from.status, {}, from.error);
  call.mcp_clients.remove(from.client->id);
  co_return co_await call.no_content();
}

}  // namespace skiff::runtime::mcp
