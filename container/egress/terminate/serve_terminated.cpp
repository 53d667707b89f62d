#include "container/egress/terminate/serve_terminated.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "container/egress/passing.hpp"
#include "container/egress/terminate/request_rule.hpp"
#include "container/egress/terminate/scrubber.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/server/connection.hpp"
#include "protocol/http/server/relay.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Headers;
using protocol::HttpExchange;

constexpr std::chrono::milliseconds kHandshake{10'000};
constexpr std::size_t kLoggedPath = 1024;

/// The server that the Host of a request names.
std::optional<Target> named_in(std::string_view host) {
  std::string text{host};
  if (!text.contains(':')) text += ":" + std::to_string(kHttpsPort);
  auto target = Target::parse(text);
  return target ? std::optional{std::move(*target)} : std::nullopt;
}

std::optional<Refusal> judge_request(const protocol::HttpRequest& request, const Target& tunnel) {
  if (request.method == "TRACE" || request.method == "CONNECT") {
    return Refusal{405, "method_not_allowed", request.method + " does not pass to a host with a secret"};
  }
  if (!request.target_text.starts_with('/')) {
    return Refusal{400, "bad_target", "the target of a request in a tunnel begins with a slash"};
  }
  const auto named = named_in(request.host);
  if (!named || named->text() != tunnel.text()) {
    return Refusal{421, "host_mismatch", "the request is for another host than its tunnel, " + tunnel.text()};
  }
  if (request.headers.has_token("Upgrade", "websocket")) {
    return Refusal{403, "upgrade_not_allowed", "WebSockets do not pass to a host with a secret"};
  }
  return std::nullopt;
}

/// A field by which some servers take another method than that of the request.
constexpr std::array kOtherMethods =
    std::to_array<std::string_view>({"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"});

/// Judges the request by the rules of the secret.
std::optional<Refusal> judge_use(const Secret& secret, const protocol::HttpRequest& request) {
  if (secret.requests.empty()) return std::nullopt;
  const std::string used = request.method + " " + protocol::to_valid_utf8(request.target.path.substr(0, kLoggedPath));
  if (!is_clear_path(request.target)) {
    return Refusal{400, "bad_path", used + ": servers read such a path in different ways"};
  }
  if (!secret.is_for(request.method, request.target)) {
    return Refusal{403, "request_not_allowed", used + ": the secret " + secret.name + " is for other requests"};
  }
  return std::nullopt;
}

/// In names `_` counts as `-`: some servers cannot tell them apart.
bool is_same_field(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto dashed = [i](std::string_view name) { return name[i] == '_' ? '-' : name[i]; };
    if (!protocol::same_text(std::string{dashed(one)}, std::string{dashed(other)})) return false;
  }
  return true;
}

/// The fields for the server, with the secret. No part of an answer may come alone, and none encoded: the secret could
/// not be found in it.
Headers fields_with(const Secret& secret, const protocol::HttpRequest& request) {
  Headers fields = fields_for_server(request);
  std::vector<std::string> dropped{"Range", "If-Range"};
  for (const auto [name, value] : fields) {
    const bool is_method = !secret.requests.empty() && std::ranges::any_of(kOtherMethods, [&](std::string_view other) {
      return is_same_field(name, other);
    });
    if (is_method || is_same_field(name, secret.header)) dropped.emplace_back(name);
  }
  for (const std::string& name : dropped) fields.remove(name);
  fields.set("Accept-Encoding", "identity");
  fields.add(secret.header, secret.injected());
  return fields;
}

/// Masks the secret in an answer.
class Masking final : public protocol::AnswerFilter {
 public:
  explicit Masking(const Secret& secret) : texts_{secret.traces()}, body_{texts_} {}

  Result<> judge(const protocol::HttpResponseHead& head) override {
    if (head.body.kind == protocol::BodyFraming::Kind::none) return {};
    for (const auto [name, value] : head.headers) {
      if (!protocol::same_text(name, "Content-Encoding") || protocol::same_text(value, "identity")) continue;
      is_encoded_ = true;
      return fail(Errc::bad_gateway, "the server has encoded its answer, so a secret in it could not be seen");
    }
    return {};
  }
  void change(Headers& fields) override {
    Headers masked;
    for (const auto [name, value] : fields) {
      if (scrubbed(name, texts_) == name) masked.add(name, scrubbed(value, texts_));
    }
    fields = std::move(masked);
  }
  std::string_view pass(std::string_view bytes) override { return body_.pass(bytes); }
  std::string_view rest() override { return body_.rest(); }
  [[nodiscard]] bool is_encoded() const noexcept { return is_encoded_; }

 private:
  std::vector<std::string> texts_;
  Scrubber body_;
  bool is_encoded_ = false;
};

Task<> refuse(Terminated* proxy, HttpExchange* http, Refusal refusal) {
  proxy->refused(refusal);
  http->close_after_response();
  (void)co_await http->respond(answer(refusal, proxy->target));
}

/// The refusal for a request that failed before its answer; nullopt: the client has gone.
std::optional<Refusal> refusal_for(const Error& error, const Masking& masking) {
  if (masking.is_encoded()) return Refusal{502, "encoded_answer", error.message};
  if (error.code == Errc::unauthenticated) {
    return Refusal{502, "upstream_tls", "the server does not prove that it is the host: " + error.message};
  }
  return refusal_of(error);
}

Task<> pass(Terminated* proxy, HttpExchange* http, Secret secret, protocol::Stream connected) {
  auto tls = proxy->terminator->client(secret);
  if (!tls) {
    co_await refuse(proxy, http, {502, "upstream_tls", tls.error().message});
    co_return;
  }
  auto options = server_options(proxy->target, std::move(connected));
  options.tls = std::move(*tls);
  protocol::HttpClient server{http->executor(), std::move(options)};
  protocol::HttpClient::Request request{.method = http->request().method,
                                        .target = protocol::target_behind(http->request(), 0),
                                        .headers = fields_with(secret, http->request()),
                                        .body = {}};
  Masking masking{secret};
  protocol::RelayOptions relayed{
      .answer_time = kAnswer, .filter = &masking, .trailer_fields = [](Headers& fields) { fields.clear(); }};
  auto passed = co_await protocol::relay(http, &server, std::move(request), std::move(relayed));
  if (passed || http->status() != 0) co_return;
  if (auto refusal = refusal_for(passed.error(), masking)) co_await refuse(proxy, http, std::move(*refusal));
}

Task<> handle(Terminated* proxy, HttpExchange* http) {
  // The connection is the sandbox's, and has a slot of its own.
  if (!http->mark_authenticated({.who = proxy->holder})) co_return;
  if (auto refusal = judge_request(http->request(), proxy->target)) {
    co_await refuse(proxy, http, std::move(*refusal));
    co_return;
  }
  auto secret = proxy->terminator->secret(proxy->target);
  if (!secret) {
    co_await refuse(proxy, http, {503, "secret_missing", secret.error().message});
    co_return;
  }
  if (auto refusal = judge_use(*secret, http->request())) {
    co_await refuse(proxy, http, std::move(*refusal));
    co_return;
  }
  AuditRequest request{.method = http->request().method,
                       .path = http->request().target.path.substr(0, kLoggedPath),
                       .secret = secret->name};
  auto connected = co_await proxy->reach(std::move(request));
  if (connected) {
    co_await pass(proxy, http, std::move(*secret), std::move(*connected));
  } else {
    co_await refuse(proxy, http, std::move(connected.error()));
  }
  proxy->is_over(http->status());
}

/// Speaks TLS with the client. The error is for the log.
Task<Result<>> secure(protocol::Stream* client, std::string hello, Terminated* proxy) {
  SKIFF_CO_TRY(const auto context, proxy->terminator->server(proxy->target));
  SKIFF_CO_TRY(auto session, context->session(client->fd(), {}));
  session->begin_with(std::move(hello));
  client->secure(std::move(session));
  co_return co_await client->handshake(kHandshake);
}

}  // namespace

Task<> serve_terminated(protocol::Stream client, std::string hello, Terminated proxy) {
  if (auto secured = co_await secure(&client, std::move(hello), &proxy); !secured) {
    proxy.refused({403, "tls_failed", "the client ends the proxy's TLS: " + secured.error().message});
    co_return;
  }
  protocol::HttpService service{
      .options = {
          .limits = {.header_bytes = kMostOfHead, .target_bytes = kMostOfTarget, .write_stall_time = kNoProgress},
          .takes_faulty_targets = true,
          .received = proxy.budget,
          .handler = [&proxy](HttpExchange& http) { return handle(&proxy, &http); },
          .error_response =
              [&proxy](unsigned status, const Error& error) {
                const Refusal refusal{status, "bad_request", error.message};
                proxy.refused(refusal);
                return answer(refusal, proxy.target);
              }}};
  protocol::ConnectionSlots slots{{.authenticated = 1, .strangers = 1}};
  protocol::ConnectionSlots::Slot slot{slots, {}, [] {}};
  protocol::HttpConnection connection{std::move(client), service, slot};
  co_await connection.run();
}

}  // namespace skiff::container::egress
