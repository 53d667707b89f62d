#include "container/kube/transport.hpp"

#include <utility>

#include "base/async/deadline.hpp"
#include "base/bytes/gzip.hpp"
#include "base/log/log.hpp"
#include "container/kube/auth/dial.hpp"
#include "container/kube/retry.hpp"
#include "container/net/resolver.hpp"
#include "protocol/http/date.hpp"
#include "protocol/websocket/handshake.hpp"

namespace skiff::kube {
namespace {

using protocol::Headers;
using protocol::HttpClient;
using protocol::HttpReply;
using protocol::HttpResponseHead;
using std::chrono::milliseconds;

/// Largest body of a failed upgrade or stream that is read; messages do not show more.
constexpr std::size_t kMostFailureBytes = 64 * 1024;
/// A server that sends a new warning with every answer is ignored after this many.
constexpr std::size_t kMostWarnings = 1000;

constexpr std::string_view kWhole = "application/json, */*";
/// A server that does not know the first type answers with the whole object.
constexpr std::string_view kMetadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json, */*";

/// The text of `299 - "text"`, a quoted-string (RFC 9110, 5.6.4).
std::string warning_text(std::string_view value) {
  const std::size_t begin = value.find('"');
  const std::size_t end = value.rfind('"');
  if (begin == end) return std::string{value};
  std::string text;
  for (std::size_t at = begin + 1; at < end; ++at) {
    if (value[at] == '\\' && at + 1 < end) ++at;
    text += value[at];
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::open(Executor executor, std::shared_ptr<BlockingPool> pool, Access access,
                                                   TransportOptions options) {
  std::unique_ptr<Transport> transport{new Transport{executor, std::move(pool), std::move(access), std::move(options)}};
  const Access& known = transport->access_;
  auto used = transport->use_certificate({.headers = {},
                                          .ca_pem = known.ca_pem,
                                          .certificate_pem = known.identity.certificate_pem,
                                          .key_pem = known.identity.key_pem});
  if (!used) return std::unexpected{std::move(used.error())};
  return transport;
}

Transport::Transport(Executor executor, std::shared_ptr<BlockingPool> pool, Access access, TransportOptions options)
    : executor_{executor},
      access_{std::move(access)},
      options_{std::move(options)},
      resolver_{net::system_resolver()},
      credentials_{executor, pool, access_},
      pool_{executor, options_.connections,
            [this] { return std::make_unique<HttpClient>(executor_, client_options()); }} {}

Transport::~Transport() = default;

Result<> Transport::use_certificate(const Credential& credential) {
  const bool is_same =
      credential.ca_pem == ca_pem_ && credential.certificate_pem == certificate_pem_ && credential.key_pem == key_pem_;
  if (!access_.server.tls || (tls_ && is_same)) return {};
  auto context = protocol::TlsContext::client({.ca_pem = credential.ca_pem,
                                               .certificate_pem = credential.certificate_pem,
                                               .key_pem = credential.key_pem,
                                               .insecure_skip_verify = access_.insecure_skip_tls_verify});
  if (!context) return fail(context.error().code, access_.origin + ": " + context.error().message);
  tls_ = std::move(*context);
  ca_pem_ = credential.ca_pem;
  certificate_pem_ = credential.certificate_pem;
  key_pem_ = credential.key_pem;
  pool_.renew();
  return {};
}

protocol::HttpClientOptions Transport::client_options() const {
  return {.host = access_.server.host,
          .port = access_.server.port,
          .tls = tls_,
          .tls_server_name = access_.tls_server_name,
          .dial = create_dialer(executor_, resolver_, access_.server, access_.proxy),
          .connect_time = options_.connect_time,
          .idle_time = options_.answer_time};
}

Task<Result<Credential>> Transport::credential() {
  auto now = co_await credentials_.get();
  if (!now) co_return now;
  SKIFF_CO_TRY_VOID(use_certificate(*now));
  co_return now;
}

Task<Result<Headers>> Transport::headers() {
  SKIFF_CO_TRY(auto now, co_await credential());
  co_return std::move(now.headers);
}

/// Connects up to the end of the TLS handshake, with the current certificate.
Task<Result<protocol::Stream>> Transport::dial(milliseconds limit) {
  SKIFF_CO_TRY_VOID(co_await credential());
  protocol::HttpClientOptions options = client_options();
  options.connect_time = limit;
  HttpClient client{executor_, std::move(options)};
  SKIFF_CO_TRY_VOID(co_await client.connect());
  co_return std::move(client.take_upgraded().stream);
}

protocol::HttpClientOptions Transport::passage() {
  protocol::HttpClientOptions options = client_options();
  options.tls = nullptr;
  options.dial = [this](milliseconds limit) { return dial(limit); };
  return options;
}

Failure Transport::unreachable(const Call& call, Error error) const {
  std::string text = call.what + ": the API server " + access_.server.text() + " (" + access_.origin + ") ";
  if (error.code == Errc::unauthenticated && access_.server.tls && !access_.proxy) {
    text += "is not the one that the kubeconfig trusts: " + error.message + ": check certificate-authority and server";
  } else {
    text += "can't be reached: " + error.message;
    if (!answered_) text += options_.advice;
  }
  return {.error = {error.code, std::move(text), std::string{kClusterFault}}};
}

void Transport::note_answer(const HttpResponseHead& head) {
  answered_ = true;
  constexpr unsigned kServerFault = 500;
  if (head.status < kServerFault) *options_.served_at = std::chrono::steady_clock::now();
  if (const auto now = protocol::parse_http_date(head.headers.get("Date"))) {
    server_ahead_ = std::chrono::round<std::chrono::seconds>(*now - wall_now());
  }
  if (!options_.warn) return;
  for (const auto [name, value] : head.headers) {
    if (!protocol::same_text(name, "Warning") || warned_.size() >= kMostWarnings) continue;
    const auto [text, is_new] = warned_.insert(warning_text(value));
    if (is_new) options_.warn(*text);
  }
}

void Transport::note_exchange(const Call& call, unsigned status, SteadyTime begun) const {
  if (!options_.tell) return;
  options_.tell({.method = call.method,
                 .url = access_.server.text() + access_.server.path + call.target,
                 .status = status,
                 .took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun)});
}

Task<Outcome<HttpClient::Request>> Transport::prepare(const Call* call, unsigned* edition) {
  auto sent_along = co_await credential();
  if (!sent_along) {
    co_return failed({sent_along.error().code, call->what + ": " + sent_along.error().message});
  }
  *edition = sent_along->edition;
  HttpClient::Request request{
      .method = call->method,
      .target = access_.server.path + call->target,
      .headers = {{"Accept", std::string{call->metadata_only ? kMetadata : kWhole}}, {"User-Agent", "skiff"}},
      .body = call->body};
  request.headers.append(sent_along->headers);
  if (!call->content_type.empty()) request.headers.add("Content-Type", call->content_type);
  co_return request;
}

Task<Outcome<HttpReply>> Transport::try_once(const Call* call, unsigned* edition) {
  SKIFF_CO_TRY(auto request, co_await prepare(call, edition));
  // The API server packs answers larger than 128 KiB: a long list then has a tenth of its size.
  request.headers.add("Accept-Encoding", "gzip");
  ConnectionPool::Lease lease = co_await pool_.lease();
  // Connect before the request: if this fails, nothing was sent.
  auto connected = co_await lease.client().connect();
  if (!connected) co_return std::unexpected{unreachable(*call, std::move(connected.error()))};
  auto reply = co_await lease.client().request(std::move(request), options_.answer_bytes);
  if (!reply) {
    Error error{reply.error().code, call->what + ": " + reply.error().message + (answered_ ? "" : options_.advice),
                std::string{kClusterFault}};
    co_return std::unexpected{Failure{.error = std::move(error), .may_have_happened = true}};
  }
  lease.keep();
  note_answer(reply->head);
  if (protocol::same_text(reply->head.headers.get("Content-Encoding"), "gzip")) {
    auto body = unpack_gzip(reply->body, options_.answer_bytes);
    if (!body) co_return failed({body.error().code, call->what + ": the API server's answer: " + body.error().message});
    reply->body = std::move(*body);
  }
  if (reply->head.status / 100 != 2) co_return std::unexpected{read_failure(reply->head, reply->body, call->what)};
  co_return std::move(*reply);
}

Task<Outcome<HttpReply>> Transport::send(Call call) {
  net::Backoff backoff{options_.retry};
  bool asked_anew = false;
  bool is_uncertain = false;
  // A `Wait` that begins later does not extend this call: in a server there always is one.
  const SteadyTime until = waited_for();
  for (;;) {
    unsigned edition = 0;
    const SteadyTime begun = std::chrono::steady_clock::now();
    auto reply = co_await try_once(&call, &edition);
    note_exchange(call, reply ? reply->head.status : reply.error().status.code, begun);
    if (reply) co_return reply;
    Failure& failure = reply.error();
    if (failure.status.code == 401 && !std::exchange(asked_anew, true)) {
      credentials_.refused(edition);
      continue;
    }
    failure.may_have_happened = failure.may_have_happened || is_uncertain;
    // A server that never answered is probably the wrong address, so do not retry.
    if (failure.status.code == 0 && !answered_) co_return reply;
    const auto wait = wait_before_retry(backoff, failure, call.repeatable, until);
    if (!wait) co_return reply;
    // The server may have done it although the answer says otherwise or did not come.
    is_uncertain = failure.may_have_happened || failure.status.code >= 500;
    log::debug("sending again", {{"failure", failure.error.message}, {"wait_ms", wait->count()}});
    co_await pause(*wait);
  }
}

/// Sends the call and reads the head of a successful answer.
Task<Outcome<HttpResponseHead>> Transport::open_once(HttpClient* client, const Call* call, Headers more) {
  for (bool asked_anew = false;; asked_anew = true) {
    unsigned edition = 0;
    SKIFF_CO_TRY(auto request, co_await prepare(call, &edition));
    request.headers.append(more);
    const SteadyTime begun = std::chrono::steady_clock::now();
    auto connected = co_await client->connect();
    if (!connected) co_return std::unexpected{unreachable(*call, std::move(connected.error()))};
    auto head = co_await client->open(std::move(request));
    note_exchange(*call, head ? head->status : 0, begun);
    if (!head) {
      Error error{head.error().code, call->what + ": " + head.error().message, std::string{kClusterFault}};
      co_return std::unexpected{Failure{.error = std::move(error), .may_have_happened = true}};
    }
    note_answer(*head);
    if (head->status == 101 || head->status / 100 == 2) co_return std::move(*head);
    // The body says why; if it cannot be read, the message has only the status.
    auto body = co_await client->read_body(kMostFailureBytes);
    if (head->status != 401 || asked_anew) {
      co_return std::unexpected{read_failure(*head, body ? std::string_view{*body} : std::string_view{}, call->what)};
    }
    credentials_.refused(edition);
  }
}

Task<Outcome<std::unique_ptr<HttpClient>>> Transport::stream(Call call, milliseconds silence) {
  // The certificate may come from a plugin, so get the credentials first.
  if (auto ready = co_await headers(); !ready)
    co_return failed({ready.error().code, call.what + ": " + ready.error().message});
  protocol::HttpClientOptions options = client_options();
  options.idle_time = silence;
  auto client = std::make_unique<HttpClient>(executor_, std::move(options));
  SKIFF_CO_TRY_VOID(co_await open_once(client.get(), &call, Headers{}));
  co_return client;
}

Task<Outcome<protocol::Upgraded>> Transport::upgrade(Call call, std::string subprotocol) {
  if (auto ready = co_await headers(); !ready)
    co_return failed({ready.error().code, call.what + ": " + ready.error().message});
  HttpClient client{executor_, client_options()};
  const protocol::ClientHandshake handshake{{subprotocol}};
  Headers more;
  for (const auto& [name, value] : handshake.headers()) more.add(name, value);
  SKIFF_CO_TRY(auto head, co_await open_once(&client, &call, std::move(more)));
  const auto lookup = [&](std::string_view name) { return std::string{head.headers.get(name)}; };
  auto chosen = handshake.check(head.status, lookup);
  if (!chosen) co_return failed({chosen.error().code, call.what + ": " + chosen.error().message});
  if (*chosen != subprotocol) {
    co_return failed({Errc::not_supported, call.what + ": the API server does not speak " + subprotocol});
  }
  co_return client.take_upgraded();
}

}  // namespace skiff::kube
