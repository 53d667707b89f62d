#include "container/egress/terminate/serve_terminated.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/deadline.hpp"
#include "container/egress/passing.hpp"
#include "container/egress/terminate/injection.hpp"
#include "container/egress/terminate/judge_request.hpp"
#include "container/egress/terminate/scrubber.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/forward.hpp"
#include "protocol/http/server/connection.hpp"
#include "protocol/http/server/relay.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Headers;
using protocol::HttpExchange;

constexpr std::chrono::milliseconds kHandshake{10'000};
/// How long a connection to the server waits for the next request: less than servers do, so that none is sent on a
/// connection that its server is about to close.
constexpr std::chrono::milliseconds kKept{1'000};
/// The status of a connection that goes on as another protocol.
constexpr unsigned kSwitching = 101;

/// Masks the secret in an answer.
class Masking final : public protocol::AnswerFilter {
 public:
  explicit Masking(std::vector<std::string> texts) : texts_{std::move(texts)}, body_{texts_} {}

  Result<> judge(const protocol::HttpResponseHead& head) override {
    if (texts_.empty() || head.body.kind == protocol::BodyFraming::Kind::none) return {};
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
std::optional<Refusal> refusal_for(const Error& error, const Masking& masking, const Secret& secret) {
  if (error.code == Errc::payload_too_large) return too_large(secret);
  if (masking.is_encoded()) return Refusal{502, "encoded_answer", error.message};
  if (error.code == Errc::unauthenticated) {
    return Refusal{502, "upstream_tls", "the server does not prove that it is the host: " + error.message};
  }
  return refusal_of(error);
}

/// The connection to the server, for one request after the other.
class Server {
 public:
  explicit Server(Executor executor) : executor_{executor}, kept_{executor, [this] { client_.reset(); }} {}

  /// Whether the next request may use the last connection: the server has not ended it, and was verified by this.
  [[nodiscard]] bool is_reusable(const protocol::TlsContext* tls) {
    return client_ && tls_.get() == tls && client_->is_reusable();
  }
  void connected(const Target& target, protocol::Stream stream, std::shared_ptr<protocol::TlsContext> tls) {
    auto options = server_options(target, std::move(stream));
    options.tls = tls_ = std::move(tls);
    client_.emplace(executor_, std::move(options));
  }
  /// Call `rest` or `close` after the request.
  [[nodiscard]] protocol::HttpClient& use() {
    kept_.clear();
    return *client_;
  }
  void rest() { kept_.expires_after(kKept); }
  void close() { client_.reset(); }

 private:
  Executor executor_;
  std::optional<protocol::HttpClient> client_;
  std::shared_ptr<protocol::TlsContext> tls_;
  Deadline kept_;
};

/// Whether the request may share a connection to the server with others. Not with a body: a server that does not read
/// it takes it for the beginning of the next request, and gives that the secret. And the server may end the connection
/// right now, so it has to be a request that can be sent once more (RFC 9110, 9.2.2).
bool may_share(const protocol::HttpRequest& request) {
  return request.body.kind == protocol::BodyFraming::Kind::none &&
         (request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS");
}

/// Returns false if a server that was kept has ended the connection without a byte of an answer.
Task<bool> pass(Terminated* proxy, HttpExchange* http, Secret secret, protocol::HttpClient* server, bool is_kept) {
  Injected injected = inject(secret, http->request());
  if (!may_share(http->request())) injected.fields.set("Connection", "close");
  protocol::HttpClient::Request request{.method = http->request().method,
                                        .target = protocol::target_behind(http->request(), 0),
                                        .headers = std::move(injected.fields),
                                        .body = {}};
  Masking masking{std::move(injected.traces)};
  protocol::RelayOptions relayed{
      .answer_time = kAnswer, .filter = &masking, .trailer_fields = [](Headers& fields) { fields.clear(); }};
  if (secret.upload_limit > 0) relayed.most_of_body = secret.upload_limit;
  if (secret.websocket) {
    // The filter does not see the head of a 101.
    relayed.change_answer = [&masking](Headers& fields) { masking.change(fields); };
    relayed.upgraded = [](protocol::Upgraded client, protocol::Upgraded server_side) {
      return protocol::carry(std::move(client), std::move(server_side), {.stall = kNoProgress, .silent = kNoProgress},
                             std::nullopt);
    };
  }
  auto passed = co_await protocol::relay(http, server, std::move(request), std::move(relayed));
  if (!passed) server->close();
  if (passed || http->status() != 0) co_return true;
  if (is_kept && passed.error().code == Errc::bad_gateway && !server->answer_begun()) co_return false;
  if (auto refusal = refusal_for(passed.error(), masking, secret)) co_await refuse(proxy, http, std::move(*refusal));
  co_return true;
}

/// Sends the request with its secret to the server, on the last connection or a new one. Returns as `pass`.
Task<bool> reach(Terminated* proxy, HttpExchange* http, Secret secret, Server* server) {
  AuditRequest request{.method = http->request().method,
                       .path = http->request().target.path.substr(0, kLoggedPath),
                       .secret = secret.name};
  auto tls = proxy->terminator->client(secret);
  const bool shares = may_share(http->request());
  const bool is_kept = shares && tls && server->is_reusable(tls->get());
  std::optional<Refusal> refusal;
  if (!tls) {
    refusal = {502, "upstream_tls", tls.error().message};
  } else if (is_kept) {
    refusal = proxy->reach_again(std::move(request));
  } else if (auto connected = co_await proxy->reach(std::move(request))) {
    server->connected(proxy->target, std::move(*connected), std::move(*tls));
  } else {
    refusal = std::move(connected.error());
  }
  if (refusal) {
    co_await refuse(proxy, http, std::move(*refusal));
    co_return true;
  }
  const bool is_answered = co_await pass(proxy, http, std::move(secret), &server->use(), is_kept);
  shares ? server->rest() : server->close();
  co_return is_answered;
}

Task<> handle(Terminated* proxy, HttpExchange* http, Server* server) {
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
  auto refusal = judge_use(*secret, http->request());
  if (!refusal) refusal = judge_placeholders(*proxy->terminator, *secret, http->request());
  if (refusal) {
    co_await refuse(proxy, http, std::move(*refusal));
    co_return;
  }
  if (!co_await reach(proxy, http, *secret, server)) {
    proxy->is_over(0);
    (void)co_await reach(proxy, http, std::move(*secret), server);
  }
  if (http->status() != kSwitching) proxy->is_over(http->status());
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
  Server server{client.executor()};
  protocol::HttpService service{
      .options = {
          .limits = {.header_bytes = kMostOfHead, .target_bytes = kMostOfTarget, .write_stall_time = kNoProgress},
          .takes_faulty_targets = true,
          .received = proxy.budget,
          .handler = [&proxy, &server](HttpExchange& http) { return handle(&proxy, &http, &server); },
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
  if (auto upgraded = connection.take_successor()) {
    co_await upgraded->handler(std::move(upgraded->connection));
    proxy.is_over(kSwitching);
  }
}

}  // namespace skiff::container::egress
