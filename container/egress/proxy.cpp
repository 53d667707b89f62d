#include "container/egress/proxy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/system_error.hpp>

#include "base/async/with_timeout.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "container/egress/names/port_question.hpp"
#include "container/egress/passage.hpp"
#include "container/egress/plain_http.hpp"
#include "container/egress/socks.hpp"
#include "container/egress/terminate/serve_terminated.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/net/tunnel.hpp"

namespace skiff::container::egress {
namespace {

using std::chrono::milliseconds;

constexpr protocol::HeadLimits kHead{.header_bytes = kMostOfHead, .target_bytes = kMostOfTarget};
constexpr std::size_t kBlock = 4096;
constexpr milliseconds kStall{60'000};
constexpr milliseconds kSilent{60'000};
constexpr milliseconds kLinger{1'000};
/// Most bytes of a refused client that are read after the answer, so that it reads the answer.
constexpr std::size_t kDiscarded = 256 * 1024;
/// The owner of a name writes its addresses: it does not send the proxy to more of them.
constexpr std::size_t kTried = 8;
constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
/// A fatal alert `unrecognized_name` (RFC 8446, 6).
constexpr std::string_view kAlert{"\x15\x03\x01\x00\x02\x02\x70", 7};

/// The time until then; at least the shortest that a wait can have.
milliseconds left_of(SteadyTime until) {
  return std::max(std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()), milliseconds{1});
}

/// Ends the outgoing direction, and reads for a moment: a connection that is closed with unread bytes is reset, and
/// the answer may be lost.
Task<> linger(protocol::Stream* stream) {
  stream->shutdown_write();
  const SteadyTime until = std::chrono::steady_clock::now() + kLinger;
  std::array<char, kBlock> block{};
  for (std::size_t read = 0; read < kDiscarded;) {
    const auto got = co_await stream->read_some(block, left_of(until));
    if (!got || *got == 0) co_return;
    read += *got;
  }
}

/// The method and target of a request line; nullopt: it is none.
std::optional<std::pair<std::string_view, std::string_view>> request_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first) return std::nullopt;
  const std::string_view version = line.substr(last + 1);
  if (!protocol::is_token(line.substr(0, first)) || (version != "HTTP/1.1" && version != "HTTP/1.0")) {
    return std::nullopt;
  }
  return std::pair{line.substr(0, first), line.substr(first + 1, last - first - 1)};
}

}  // namespace

/// A wait for bytes of a client, and the refusals for one that does not send them, or not all.
struct Proxy::Wait {
  SteadyTime until;
  Refusal late;
  Refusal incomplete;
};

Proxy::Proxy(Executor executor, Options options)
    : executor_{executor}, options_{std::move(options)}, tasks_{executor} {}

Proxy::~Proxy() = default;

void Proxy::serve(UniqueFd socket, std::string already_read) {
  protocol::Stream client{executor_, std::move(socket), "sandbox"};
  tasks_.spawn("egress connection", run(this, std::move(client), std::move(already_read)));
}

std::size_t Proxy::replace(std::optional<Policy> policy) {
  policy_ = std::move(policy);
  names_.clear();
  std::size_t count = 0;
  for (Passage* passage : passages_) {
    if (passage->target.host.empty() || passage->is_cut || !judge_now(*passage)) continue;
    passage->cut();
    AuditEntry cut = entry(*passage, verdict::kCut);
    cut.code = "policy_changed";
    options_.audit->deny(cut);
    passage->id = {};
    ++count;
  }
  return count;
}

protocol::Traffic Proxy::carried() const {
  protocol::Traffic sum;
  for (const Passage* passage : passages_) {
    if (passage->id.empty()) continue;
    const auto [sent, received] = passage->carried();
    sum.sent += sent;
    sum.received += received;
  }
  return sum;
}

Task<> Proxy::stop() {
  tasks_.cancel();
  for (Passage* passage : passages_) passage->cut();
  co_await tasks_.join();
}

std::optional<Refusal> Proxy::judge_now(const Passage& passage) const {
  return judge(policy_ ? &*policy_ : nullptr, passage.target, options_.sandbox);
}

std::optional<Refusal> Proxy::judge_secret(const Passage& passage) const {
  if (auto refusal = judge_now(passage)) return refusal;
  const auto certificate = options_.terminator->server(passage.target);
  if (certificate) return std::nullopt;
  return Refusal{503, "secret_missing", certificate.error().message};
}

Task<> Proxy::run(Proxy* self, protocol::Stream client, std::string already_read) {
  Passage passage{.client = std::move(client), .buffered = std::move(already_read)};
  const auto place = self->passages_.insert(self->passages_.end(), &passage);
  try {
    auto refusal = self->passages_.size() > kConnections
                       ? Refusal{429, "too_many_connections",
                                 "this sandbox has " + std::to_string(kConnections) + " connections already"}
                       : co_await self->open(&passage);
    if (!passage.is_cut && refusal) {
      co_await self->refuse(&passage, std::move(*refusal));
    } else if (!passage.is_cut && passage.speaks == Passage::Speaks::question) {
      (void)co_await self->send(&passage, passage.buffered);
    } else if (!passage.is_cut && passage.speaks == Passage::Speaks::plain_http) {
      co_await self->serve_requests(&passage);
    } else if (!passage.is_cut && passage.speaks == Passage::Speaks::terminated) {
      co_await self->serve_secrets(&passage);
    } else if (!passage.is_cut) {
      co_await protocol::tunnel(&passage.client, &passage.upstream,
                                {.stall = kStall,
                                 .silent = kSilent,
                                 .budget = &self->options_.room->held,
                                 .who = &self->options_.holder,
                                 .pipes = &self->options_.room->pipes});
    }
  } catch (const boost::system::system_error&) {
    // The proxy ends.
    passage.cut();
  }
  self->log_end(&passage);
  self->passages_.erase(place);
}

AuditEntry Proxy::entry(const Passage& passage, std::string_view verdict) const {
  AuditEntry made{.verdict = verdict,
                  .connection = passage.id,
                  .generation = policy_ ? policy_->generation() : "",
                  .host = passage.target.host,
                  .port = passage.target.port,
                  .address = passage.address,
                  .request = passage.request};
  if (!passage.id.empty() && verdict != verdict::kAllowed) {
    const auto [sent, received] = passage.carried();
    made.carried = {.sent = sent,
                    .received = received,
                    .took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - passage.begun)};
  }
  return made;
}

void Proxy::log_refusal(Passage* passage, const Refusal& refusal) {
  AuditEntry denied = entry(*passage, verdict::kDenied);
  denied.code = refusal.code;
  denied.detail = refusal.detail;
  denied.rule = refusal.rule;
  options_.audit->deny(denied);
  passage->id = {};
}

void Proxy::log_end(Passage* passage) {
  if (!passage->id.empty()) options_.audit->end(entry(*passage, verdict::kEnded));
  passage->id = {};
}

std::string Proxy::text_of(const Passage& passage, const Refusal& refusal) {
  switch (passage.speaks) {
    case Passage::Speaks::tunnel:
      return std::string{kAlert};
    case Passage::Speaks::socks_greeting:
      return std::string{kSocksNone};
    case Passage::Speaks::socks:
      return socks_refusal(refusal);
    default:
      return response(refusal, passage.target);
  }
}

Task<> Proxy::refuse(Passage* passage, Refusal refusal) {
  log_refusal(passage, refusal);
  const std::string text = text_of(*passage, refusal);
  const std::array<std::string_view, 1> parts{text};
  auto sent = co_await passage->client.write(parts, kLinger);
  if (sent && passages_.size() <= kConnections) co_await linger(&passage->client);
}

Task<std::optional<Refusal>> Proxy::open(Passage* passage) {
  if (auto refusal = co_await read_target(passage)) co_return refusal;
  if (passage->is_cut || passage->speaks == Passage::Speaks::plain_http) co_return std::nullopt;
  if (passage->speaks == Passage::Speaks::question) co_return answer_question(passage);
  const bool is_requests = is_plain(passage->target);
  const bool is_terminated = options_.terminator != nullptr && options_.terminator->terminates(passage->target);
  std::optional<Refusal> unreached;
  // Where requests are judged, each of them is connected for itself.
  if (!is_requests) unreached = is_terminated ? judge_secret(*passage) : co_await reach(passage);
  if (unreached) co_return unreached;
  if (passage->is_cut) co_return std::nullopt;
  const bool is_socks = passage->speaks == Passage::Speaks::socks;
  if (!co_await send(passage, is_socks ? kSocksConnected : kEstablished)) co_return std::nullopt;
  if (is_requests) {
    passage->speaks = Passage::Speaks::plain_http;
    passage->plain_tunnel = std::exchange(passage->target, {});
    passage->plain_tunnel->is_plain = true;
    co_return std::nullopt;
  }
  passage->speaks = Passage::Speaks::tunnel;
  if (auto refusal = co_await read_hello(passage)) co_return refusal;
  if (passage->is_cut) co_return std::nullopt;
  if (is_terminated) {
    passage->speaks = Passage::Speaks::terminated;
    co_return std::nullopt;
  }
  const std::array<std::string_view, 1> first{passage->buffered};
  if (auto sent = co_await passage->upstream.write(first, kStall); !sent) passage->cut();
  passage->buffered = {};
  co_return std::nullopt;
}

Task<bool> Proxy::send(Passage* passage, std::string_view text) {
  const std::array<std::string_view, 1> parts{text};
  auto sent = co_await passage->client.write(parts, options_.first_words);
  if (!sent) passage->cut();
  co_return sent.has_value();
}

Task<std::optional<Refusal>> Proxy::read_more(Passage* passage, const Wait* wait) {
  std::array<char, kBlock> block{};
  const auto got = co_await passage->client.read_some(block, left_of(wait->until));
  if (!got && got.error().code == Errc::timeout) co_return wait->late;
  if (!got || *got == 0) {
    // A client that goes without a word is not refused.
    if (got && !passage->buffered.empty()) co_return wait->incomplete;
    passage->cut();
    co_return std::nullopt;
  }
  passage->buffered.append(block.data(), *got);
  co_return std::nullopt;
}

Task<std::optional<Refusal>> Proxy::read_target(Passage* passage) {
  const Wait wait{.until = std::chrono::steady_clock::now() + options_.first_words,
                  .late = {408, "timeout", "no whole request came in time"},
                  .incomplete = {400, "bad_request", "the request is incomplete"}};
  protocol::HeadScanner scanner{kHead};
  for (;;) {
    if (passage->buffered.empty()) {
      if (auto refusal = co_await read_more(passage, &wait)) co_return refusal;
      if (passage->is_cut) co_return std::nullopt;
    }
    if (passage->buffered.front() == kSocks) co_return co_await read_socks(passage, &wait);
    const auto size = scanner.scan(passage->buffered);
    if (!size) co_return Refusal{size.error().status == 431 ? 431U : 400U, "bad_request", size.error().error.message};
    if (*size > 0) co_return read_request(passage, *size);
    if (auto refusal = co_await read_more(passage, &wait)) co_return refusal;
    if (passage->is_cut) co_return std::nullopt;
  }
}

std::optional<Refusal> Proxy::read_request(Passage* passage, std::size_t size) {
  const auto line = request_line(passage->buffered);
  if (!line) return Refusal{400, "bad_request", "the first line is not a request of HTTP/1.1"};
  if (const auto host = host_in_question(line->first, line->second)) {
    passage->speaks = Passage::Speaks::question;
    passage->buffered = std::string{*host};
    return std::nullopt;
  }
  if (line->first != "CONNECT" && line->second.starts_with("http://")) {
    passage->speaks = Passage::Speaks::plain_http;
    return std::nullopt;
  }
  if (line->first != "CONNECT") {
    return Refusal{405, "method_not_allowed",
                   "only CONNECT passes here, as clients send it for https:// URLs, and requests with http:// URLs"};
  }
  auto target = Target::parse(line->second);
  if (!target) return Refusal{400, "bad_target", target.error().message};
  passage->target = std::move(*target);
  passage->buffered.erase(0, size);
  return std::nullopt;
}

std::optional<Refusal> Proxy::answer_question(Passage* passage) {
  auto host = host_name(passage->buffered);
  if (!host) return Refusal{400, "bad_target", "the question names no DNS name"};
  const auto targets = policy_ ? policy_->targets_of(*host) : std::vector<Target>{};
  for (const Target& target : targets) {
    auto refusal = names_.judge(*policy_, target);
    if (!refusal) continue;
    passage->target = target;
    return refusal;
  }
  passage->buffered = port_answer(targets);
  if (!targets.empty()) return std::nullopt;
  passage->target = {.host = std::move(*host), .port = kHttpsPort};
  return judge_now(*passage);
}

bool Proxy::is_plain(const Target& target) const {
  return policy_ && !policy_->allows(target.host, target.port) && policy_->allows(target.host, target.port, true);
}

Task<std::optional<Refusal>> Proxy::read_socks(Passage* passage, const Wait* wait) {
  passage->speaks = Passage::Speaks::socks_greeting;
  auto greeting = read_socks_greeting(passage->buffered);
  while (greeting && *greeting == 0) {
    if (auto refusal = co_await read_more(passage, wait)) co_return refusal;
    if (passage->is_cut) co_return std::nullopt;
    greeting = read_socks_greeting(passage->buffered);
  }
  if (!greeting) co_return std::move(greeting.error());
  passage->buffered.erase(0, *greeting);
  if (!co_await send(passage, kSocksChosen)) co_return std::nullopt;
  passage->speaks = Passage::Speaks::socks;
  auto request = read_socks_request(passage->buffered);
  while (request && request->size == 0) {
    if (auto refusal = co_await read_more(passage, wait)) co_return refusal;
    if (passage->is_cut) co_return std::nullopt;
    request = read_socks_request(passage->buffered);
  }
  if (!request) co_return std::move(request.error());
  passage->target = std::move(request->target);
  passage->buffered.erase(0, request->size);
  co_return std::nullopt;
}

Task<std::optional<Refusal>> Proxy::reach(Passage* passage) {
  passage->begun = std::chrono::steady_clock::now();
  if (auto refusal = judge_now(*passage)) co_return refusal;
  if (auto refusal = names_.judge(*policy_, passage->target)) co_return refusal;
  if (auto refusal = co_await dial(passage)) co_return refusal;
  if (passage->is_cut) co_return std::nullopt;
  passage->traffic = passage->upstream.count();
  co_return let_pass(passage);
}

std::optional<Refusal> Proxy::reach_again(Passage* passage) {
  passage->begun = std::chrono::steady_clock::now();
  if (auto refusal = judge_now(*passage)) return refusal;
  return let_pass(passage);
}

std::optional<Refusal> Proxy::let_pass(Passage* passage) {
  passage->before = *passage->traffic;
  passage->address = passage->connected_to;
  passage->id = new_id("c");
  if (options_.audit->allow(entry(*passage, verdict::kAllowed))) return std::nullopt;
  passage->id = {};
  return Refusal{503, "audit_failed", "the audit log cannot be written, so nothing passes"};
}

Task<std::expected<protocol::Stream, Refusal>> Proxy::reach_plainly(Passage* passage, Target target) {
  passage->target = std::move(target);
  auto refusal = co_await reach(passage);
  if (refusal) co_return std::unexpected{std::move(*refusal)};
  co_return std::move(passage->upstream);
}

Task<> Proxy::serve_requests(Passage* passage) {
  co_await serve_plain_http(
      std::move(passage->client), std::exchange(passage->buffered, {}),
      {.reach = [this, passage](Target target) { return reach_plainly(passage, std::move(target)); },
       .refused =
           [this, passage](const Refusal& refusal) {
             if (!passage->is_cut) log_refusal(passage, refusal);
           },
       .is_over =
           [this, passage] {
             log_end(passage);
             passage->target = {};
             passage->address = {};
           },
       .tunnel = passage->plain_tunnel,
       .budget = &options_.room->held,
       .holder = options_.holder});
}

Task<> Proxy::serve_secrets(Passage* passage) {
  co_await serve_terminated(std::move(passage->client), std::exchange(passage->buffered, {}),
                            {.target = passage->target,
                             .terminator = options_.terminator,
                             .reach =
                                 [this, passage](AuditRequest request) {
                                   passage->request = std::move(request);
                                   return reach_plainly(passage, passage->target);
                                 },
                             .reach_again =
                                 [this, passage](AuditRequest request) {
                                   passage->request = std::move(request);
                                   return reach_again(passage);
                                 },
                             .refused =
                                 [this, passage](const Refusal& refusal) {
                                   if (!passage->is_cut) log_refusal(passage, refusal);
                                 },
                             .is_over =
                                 [this, passage](unsigned status) {
                                   if (passage->request) passage->request->status = status;
                                   log_end(passage);
                                   passage->request.reset();
                                   passage->address = {};
                                 },
                             .budget = &options_.room->held,
                             .holder = options_.holder});
}

Task<std::optional<Refusal>> Proxy::dial(Passage* passage) {
  const Target& target = passage->target;
  auto refusal = co_await within(std::chrono::steady_clock::now() + options_.dial, dial_within(passage));
  if (!refusal) co_return Refusal{504, "timeout", target.host + " could not be connected in time"};
  if (*refusal) co_return std::move(*refusal);
  // It may have changed meanwhile.
  co_return judge_now(*passage);
}

Task<std::optional<Refusal>> Proxy::dial_within(Passage* passage) {
  const Target& target = passage->target;
  // The dot at its end keeps search domains away.
  auto addresses = co_await options_.resolve(target.host + ".", target.port);
  if (!addresses) co_return Refusal{502, "dns", addresses.error().message};
  if (auto refusal = judge_addresses(*addresses, target, options_.is_public)) co_return refusal;
  std::string why;
  for (const protocol::Address& address : std::span{*addresses}.first(std::min(kTried, addresses->size()))) {
    if (passage->is_cut) co_return std::nullopt;
    const SteadyTime begun = std::chrono::steady_clock::now();
    auto connected = co_await protocol::connect(address, options_.dial / 3, executor_);
    if (options_.dials != nullptr) {
      options_.dials->observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    }
    if (connected) {
      passage->connected_to = address.host();
      passage->upstream = std::move(*connected);
      passage->close_upstream = passage->upstream.closer();
      co_return std::nullopt;
    }
    why = connected.error().message;
  }
  co_return Refusal{502, "connect", target.host + " cannot be connected: " + why};
}

Task<std::optional<Refusal>> Proxy::read_hello(Passage* passage) {
  using State = protocol::ClientHelloReader::State;
  const Wait wait{.until = std::chrono::steady_clock::now() + options_.first_words,
                  .late = {403, "not_tls", "no ClientHello came in time"},
                  .incomplete = {403, "not_tls", "the ClientHello is incomplete"}};
  protocol::ClientHelloReader hello;
  State state = hello.add(passage->buffered);
  while (state == State::incomplete) {
    const std::size_t before = passage->buffered.size();
    if (auto refusal = co_await read_more(passage, &wait)) co_return refusal;
    if (passage->is_cut) co_return std::nullopt;
    state = hello.add(std::string_view{passage->buffered}.substr(before));
  }
  if (auto refusal = judge_hello(hello, passage->target)) co_return refusal;
  co_return judge_now(*passage);
}

}  // namespace skiff::container::egress
