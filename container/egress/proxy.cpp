#include "container/egress/proxy.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <boost/system/system_error.hpp>

#include "base/async/with_timeout.hpp"
#include "base/clock.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/net/tunnel.hpp"

namespace skiff::container::egress {
namespace {

using std::chrono::milliseconds;

constexpr protocol::HeadLimits kHead{.header_bytes = 16 * 1024, .target_bytes = 1024};
constexpr std::size_t kBlock = 4096;
/// Bytes of slow receivers, of all tunnels together.
constexpr std::size_t kHeld = std::size_t{16} << 20U;
constexpr milliseconds kStall{60'000};
constexpr milliseconds kSilent{60'000};
constexpr milliseconds kLinger{1'000};
/// Most bytes of a refused client that are read after the answer, so that it reads the answer.
constexpr std::size_t kDiscarded = 256 * 1024;
constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";
/// A fatal alert `unrecognized_name` (RFC 8446, 6).
constexpr std::string_view kAlert{"\x15\x03\x01\x00\x02\x02\x70", 7};
const std::string kHolder{"egress"};

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

/// One connection of the sandbox, from accept to end.
struct Proxy::Passage {
  protocol::Stream client;
  protocol::Stream upstream = {};
  Target target = {};         ///< empty before it is known
  std::string buffered = {};  ///< bytes of the client that were read and not passed on
  std::string address = {};   ///< the address of the server that is connected
  bool is_tunnel = false;     ///< 200 has been sent
  bool is_cut = false;

  void cut() {
    is_cut = true;
    client.close();
    upstream.close();
  }
};

Proxy::Proxy(Executor executor, Options options)
    : executor_{executor}, options_{std::move(options)}, budget_{kHeld}, tasks_{executor} {}

Proxy::~Proxy() = default;

void Proxy::serve(UniqueFd socket) {
  tasks_.spawn("egress connection", run(this, protocol::Stream{executor_, std::move(socket), "sandbox"}));
}

std::size_t Proxy::replace(std::optional<Policy> policy) {
  policy_ = std::move(policy);
  std::size_t count = 0;
  for (Passage* passage : passages_) {
    if (passage->target.host.empty() || passage->is_cut || !judge_now(*passage)) continue;
    passage->cut();
    options_.audit->deny({.verdict = "cut",
                          .code = "policy_changed",
                          .host = passage->target.host,
                          .port = passage->target.port,
                          .address = passage->address});
    ++count;
  }
  return count;
}

Task<> Proxy::stop() {
  tasks_.cancel();
  for (Passage* passage : passages_) passage->cut();
  co_await tasks_.join();
}

std::optional<Refusal> Proxy::judge_now(const Passage& passage) const {
  return judge(policy_ ? &*policy_ : nullptr, passage.target, options_.sandbox);
}

Task<> Proxy::run(Proxy* self, protocol::Stream client) {
  Passage passage{.client = std::move(client)};
  const auto place = self->passages_.insert(self->passages_.end(), &passage);
  try {
    auto refusal = self->passages_.size() > kConnections
                       ? Refusal{429, "too_many_connections",
                                 "this sandbox has " + std::to_string(kConnections) + " connections already"}
                       : co_await self->open(&passage);
    if (!passage.is_cut && refusal) {
      co_await self->refuse(&passage, std::move(*refusal));
    } else if (!passage.is_cut) {
      co_await protocol::tunnel(&passage.client, &passage.upstream,
                                {.stall = kStall, .silent = kSilent, .budget = &self->budget_, .who = &kHolder});
    }
  } catch (const boost::system::system_error&) {
    // The proxy ends.
    passage.cut();
  }
  self->passages_.erase(place);
}

Task<> Proxy::refuse(Passage* passage, Refusal refusal) {
  options_.audit->deny({.verdict = "denied",
                        .code = refusal.code,
                        .host = passage->target.host,
                        .port = passage->target.port,
                        .address = passage->address,
                        .detail = refusal.detail});
  const std::string text = passage->is_tunnel ? std::string{kAlert} : response(refusal, passage->target);
  const std::array<std::string_view, 1> parts{text};
  auto sent = co_await passage->client.write(parts, kLinger);
  if (sent && passages_.size() <= kConnections) co_await linger(&passage->client);
}

Task<std::optional<Refusal>> Proxy::open(Passage* passage) {
  if (auto refusal = co_await read_target(passage)) co_return refusal;
  if (auto refusal = judge_now(*passage)) co_return refusal;
  if (auto refusal = co_await dial(passage)) co_return refusal;
  if (passage->is_cut) co_return std::nullopt;
  if (!options_.audit->allow({.verdict = "allowed",
                              .host = passage->target.host,
                              .port = passage->target.port,
                              .address = passage->address})) {
    co_return Refusal{503, "audit_failed", "the audit log cannot be written, so nothing passes"};
  }
  const std::array<std::string_view, 1> established{kEstablished};
  if (auto sent = co_await passage->client.write(established, options_.first_words); !sent) {
    passage->cut();
    co_return std::nullopt;
  }
  passage->is_tunnel = true;
  if (auto refusal = co_await read_hello(passage)) co_return refusal;
  if (passage->is_cut) co_return std::nullopt;
  const std::array<std::string_view, 1> first{passage->buffered};
  if (auto sent = co_await passage->upstream.write(first, kStall); !sent) passage->cut();
  passage->buffered = {};
  co_return std::nullopt;
}

Task<std::optional<Refusal>> Proxy::read_target(Passage* passage) {
  const SteadyTime until = std::chrono::steady_clock::now() + options_.first_words;
  protocol::HeadScanner scanner{kHead};
  std::array<char, kBlock> block{};
  for (;;) {
    const auto got = co_await passage->client.read_some(block, left_of(until));
    if (!got && got.error().code == Errc::timeout) {
      co_return Refusal{408, "timeout", "no whole request came in time"};
    }
    if (!got || *got == 0) {
      // A client that goes without a word is not refused.
      if (got && !passage->buffered.empty()) co_return Refusal{400, "bad_request", "the request is incomplete"};
      passage->cut();
      co_return std::nullopt;
    }
    passage->buffered.append(block.data(), *got);
    const auto size = scanner.scan(passage->buffered);
    if (!size) co_return Refusal{size.error().status == 431 ? 431U : 400U, "bad_request", size.error().error.message};
    if (*size == 0) continue;
    const auto line = request_line(passage->buffered);
    if (!line) co_return Refusal{400, "bad_request", "the first line is not a request of HTTP/1.1"};
    if (line->first != "CONNECT") {
      co_return Refusal{405, "method_not_allowed",
                        "only CONNECT passes here, as clients send it for https:// URLs; plain http:// does not"};
    }
    auto target = Target::parse(line->second);
    if (!target) co_return Refusal{400, "bad_target", target.error().message};
    passage->target = std::move(*target);
    passage->buffered.erase(0, *size);
    co_return std::nullopt;
  }
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
  for (const protocol::Address& address : *addresses) {
    if (passage->is_cut) co_return std::nullopt;
    auto connected = co_await protocol::connect(address, options_.dial / 3, executor_);
    if (connected) {
      passage->address = address.host();
      passage->upstream = std::move(*connected);
      co_return std::nullopt;
    }
    why = connected.error().message;
  }
  co_return Refusal{502, "connect", target.host + " cannot be connected: " + why};
}

Task<std::optional<Refusal>> Proxy::read_hello(Passage* passage) {
  using State = protocol::ClientHelloReader::State;
  const SteadyTime until = std::chrono::steady_clock::now() + options_.first_words;
  protocol::ClientHelloReader hello;
  State state = hello.add(passage->buffered);
  std::array<char, kBlock> block{};
  while (state == State::incomplete) {
    const auto got = co_await passage->client.read_some(block, left_of(until));
    if (!got && got.error().code == Errc::timeout) {
      co_return Refusal{403, "not_tls", "no ClientHello came in time"};
    }
    if (!got || *got == 0) {
      if (got && !passage->buffered.empty()) co_return Refusal{403, "not_tls", "the ClientHello is incomplete"};
      passage->cut();
      co_return std::nullopt;
    }
    const std::string_view bytes{block.data(), *got};
    passage->buffered += bytes;
    state = hello.add(bytes);
  }
  if (auto refusal = judge_hello(hello, passage->target)) co_return refusal;
  co_return judge_now(*passage);
}

}  // namespace skiff::container::egress
