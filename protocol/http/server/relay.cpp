#include "protocol/http/server/relay.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/expiry.hpp"
#include "base/clock.hpp"
#include "protocol/http/forward.hpp"

namespace skiff::protocol {
namespace {

/// The bytes of one read of a body, and all that is kept of it, unless it has a large block.
constexpr std::size_t kRelayed = 64 * 1024;
/// How long a client that has ended its direction waits without a byte of the response.
constexpr std::chrono::milliseconds kShutPatience{5'000};
/// The block size when the budget for unread bytes is used up.
constexpr std::size_t kLeastRelayed = 4 * 1024;
/// The bytes counted for a block: the connection that it is read from may buffer as many.
constexpr std::size_t kHeld = 2 * kRelayed;
/// A receiver that takes longer for a large block gains no speed from it, and keeps it from others.
constexpr std::chrono::microseconds kSlow{200'000};
/// After this many bytes, other tasks get the reactor.
constexpr std::size_t kRelayedAtOnce = 1024 * 1024;
/// A piece counts as so many bytes at least: one byte costs a read and a write, too.
constexpr std::size_t kLeastOfTurn = 4 * 1024;

/// The state that both directions share.
struct Relay {
  Relay(HttpExchange* http_in, HttpClient* server_in, RelayOptions options_in, bool asks_for_upgrade_in)
      : http{*http_in},
        server{*server_in},
        options{std::move(options_in)},
        has_body{http.request().body.kind != BodyFraming::Kind::none},
        asks_for_upgrade{asks_for_upgrade_in},
        answer_due{http.executor(),
                   [this] {
                     late = true;
                     server.close();
                   }},
        silence{http.executor(), [this] { leave(); }},
        end{http.executor(), options.ends, [this] { give_up({Errc::unauthenticated, std::string{kExpired}}); }} {}

  /// Ends both directions; the client is told the reason, if possible.
  void give_up(Error error) {
    if (!reason) reason = std::move(error);
    server.close();
  }

  void leave() { give_up({Errc::cancelled, "the client has left"}); }

  /// The client has ended its direction: either it has sent everything, as nc does, or it is gone. Only a send would
  /// show the difference, so the client gets time while the response makes progress.
  void client_has_shut() {
    shut = true;
    silence.expires_after(kShutPatience);
  }
  void sent_some() {
    if (shut) silence.expires_after(kShutPatience);
  }

  /// Call it before a silence of any length, in which either side could vanish.
  void probe_both() {
    if (std::exchange(probed, true)) return;
    http.probe_peer(options.probe_idle);
    server.probe_peer(options.probe_idle);
  }

  /// Returns the error that the client gets instead of a response.
  Error failure(Error error) {
    if (reason) return std::move(*reason);
    if (late) {
      return {Errc::timeout, "the server has not answered for " + std::to_string(options.answer_time.count()) + " ms"};
    }
    if (error.code != Errc::timeout && error.code != Errc::cancelled) error.code = Errc::bad_gateway;
    return error;
  }

  HttpExchange& http;
  HttpClient& server;
  RelayOptions options;
  bool has_body;
  bool asks_for_upgrade;
  bool answered = false;  ///< the head of the response has come
  bool late = false;
  bool shut = false;  ///< the client has ended its direction
  bool probed = false;
  std::optional<Error> reason;
  Deadline answer_due;
  Deadline silence;
  Expiry end;
};

/// Lets other tasks have the reactor after each `kRelayedAtOnce` bytes: with two fast sides no call waits.
class Turn {
 public:
  explicit Turn(Executor executor) : executor_{executor} {}
  [[nodiscard]] Task<> took(std::size_t bytes) {
    bytes_ += std::max(bytes, kLeastOfTurn);
    if (bytes_ < kRelayedAtOnce) co_return;
    bytes_ = 0;
    co_await boost::asio::post(executor_, use_task);
  }

 private:
  Executor executor_;
  std::size_t bytes_ = 0;
};

/// The memory for a body's next bytes. It is released while the sender is silent, which may take long.
class Block {
 public:
  explicit Block(Relay* relay)
      : large_{relay->options.large_blocks},
        who_{relay->http.who()},
        held_{relay->http.budget(),
              {.who = &relay->http.who(), .patience = std::chrono::hours{24 * 365}, .free = kLeastRelayed},
              [relay] { relay->give_up({Errc::resource_exhausted, std::string{kNoReceiveRoom}}); }} {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Whether the block may be useless: the last read did not fill it, or others may need it more.
  [[nodiscard]] bool is_idle() const noexcept { return is_large() || last_ < size_ || !bytes_; }
  void release() noexcept {
    large_part_.set(0);
    (void)held_.hold(0);
    bytes_.reset();
    size_ = 0;
  }
  /// Returns a large block when the last read would have filled a small one.
  [[nodiscard]] std::span<char> room() {
    const bool is_fast = large_ != nullptr && !is_slow_ && last_ >= kRelayed;
    if (is_large() && !is_fast) release();
    if (!is_large() && is_fast) {
      large_part_ = large_->take(who_);
      if (large_part_.amount() > 0) make(LargeBlocks::kBytes);
    }
    if (!bytes_ || (size_ < kRelayed && last_ == size_)) make(held_.hold_if_free(kHeld) ? kRelayed : kLeastRelayed);
    return {bytes_.get(), size_};
  }
  [[nodiscard]] std::string_view read(std::size_t size) noexcept {
    last_ = size;
    return {bytes_.get(), size};
  }
  /// Sets how long the receiver took for the bytes of the last read.
  void taken_in(std::chrono::steady_clock::duration time) noexcept {
    is_slow_ = time > kSlow * last_ / LargeBlocks::kBytes;
  }

 private:
  [[nodiscard]] bool is_large() const noexcept { return size_ > kRelayed; }
  void make(std::size_t size) {
    bytes_.reset();
    size_ = size;
    bytes_ = std::make_unique_for_overwrite<char[]>(size);
  }

  LargeBlocks* large_;
  const std::string& who_;
  Shares::Part large_part_;
  ReceiveBudget::Share held_;
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t last_ = 0;
  bool is_slow_ = false;
};

/// Reads the next bytes of the request's body, none at its end.
Task<Result<std::string_view>> read_request(HttpExchange* http, Block* block) {
  if (block->is_idle() && !http->has_body()) {
    block->release();
    SKIFF_CO_TRY_VOID(co_await http->body_readable());
  }
  SKIFF_CO_TRY(auto got, co_await http->read_body_some(block->room()));
  co_return block->read(got);
}

/// Reads the next bytes of the response's body, which may be silent while both sides are there.
Task<Result<std::string_view>> read_answer(Relay* relay, Block* block) {
  HttpClient& server = relay->server;
  if (block->is_idle() && !server.has_more()) {
    block->release();
    relay->probe_both();
    SKIFF_CO_TRY_VOID(co_await server.readable());
  }
  SKIFF_CO_TRY(auto got, co_await server.read_some(block->room()));
  co_return block->read(got);
}

/// Returns false when the client's side has failed. A server that stops reading may have responded already.
Task<bool> send_body(Relay* relay) {
  Block block{relay};
  Turn turn{relay->http.executor()};
  std::uint64_t left = relay->options.most_of_body;
  for (;;) {
    auto bytes = co_await read_request(&relay->http, &block);
    if (!bytes) {
      relay->give_up(std::move(bytes.error()));
      co_return false;
    }
    if (bytes->empty()) break;
    if (bytes->size() > left) {
      relay->give_up({Errc::payload_too_large, "the request's body is larger than allowed"});
      co_return false;
    }
    left -= bytes->size();
    const std::array<std::string_view, 1> parts{*bytes};
    const SteadyTime began = std::chrono::steady_clock::now();
    auto sent = co_await relay->server.write(parts);
    block.taken_in(std::chrono::steady_clock::now() - began);
    if (!sent && sent.error().code == Errc::timeout) relay->give_up(std::move(sent.error()));
    if (!sent) co_return true;
    co_await turn.took(bytes->size());
  }
  // If this fails, the missing response shows it.
  Headers trailers = forwarded_trailers(relay->http.trailers());
  if (relay->options.trailer_fields != nullptr) relay->options.trailer_fields(trailers);
  (void)co_await relay->server.finish(std::move(trailers));
  co_return true;
}

/// Sends the rest of the request, then watches the client during the response.
Task<> send_request(Relay* relay) {
  try {
    if (relay->has_body && !co_await send_body(relay)) co_return;
  } catch (const std::bad_alloc&) {
    relay->give_up({Errc::resource_exhausted, "there is not enough memory for this"});
    co_return;
  }
  if (!relay->answered) relay->answer_due.expires_after(relay->options.answer_time);
  if (!co_await relay->http.peer_closed()) co_return;
  if (relay->http.peer_has_shut()) {
    relay->client_has_shut();
  } else {
    relay->leave();
  }
}

/// Returns the length that the server stated; the response to HEAD has one, but no body.
std::optional<std::uint64_t> length_of(const HttpResponseHead& head) {
  const std::string_view text = head.headers.get("Content-Length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc{}) return std::nullopt;
  return length;
}

Task<Result<>> send_answer_body(Relay* relay) {
  Block block{relay};
  Turn turn{relay->http.executor()};
  for (;;) {
    SKIFF_CO_TRY(auto bytes, co_await read_answer(relay, &block));
    if (bytes.empty()) break;
    const SteadyTime began = std::chrono::steady_clock::now();
    AnswerFilter* const filter = relay->options.filter;
    SKIFF_CO_TRY_VOID(co_await relay->http.write(filter == nullptr ? bytes : filter->pass(bytes)));
    relay->sent_some();
    block.taken_in(std::chrono::steady_clock::now() - began);
    co_await turn.took(bytes.size());
  }
  Headers trailers = forwarded_trailers(relay->server.trailers());
  if (AnswerFilter* const filter = relay->options.filter; filter != nullptr) {
    SKIFF_CO_TRY_VOID(co_await relay->http.write(filter->rest()));
    filter->change(trailers);
  }
  co_return co_await relay->http.finish(std::move(trailers));
}

Task<Result<>> switch_protocols(Relay* relay, HttpResponseHead head) {
  if (!relay->asks_for_upgrade || !relay->options.upgraded) {
    co_return fail(Errc::bad_gateway, "the server switched protocols without a request for it");
  }
  relay->probe_both();
  auto handler = [server = relay->server.take_upgraded(), take = std::move(relay->options.upgraded)](
                     Upgraded client) mutable { return take(std::move(client), std::move(server)); };
  Headers fields = forwarded_answer(head);
  if (relay->options.change_answer) relay->options.change_answer(fields);
  co_return co_await relay->http.upgrade(std::move(fields), std::move(handler));
}

Task<Result<>> send_answer(Relay* relay) {
  AnswerFilter* const filter = relay->options.filter;
  auto inform = [http = &relay->http, filter](const HttpResponseHead& head) {
    Headers fields = forwarded_answer(head);
    if (filter != nullptr) filter->change(fields);
    return http->inform(head.status, std::move(fields));
  };
  auto head = co_await relay->server.read_head(std::move(inform));
  relay->answered = true;
  relay->answer_due.clear();
  if (!head) co_return std::unexpected{relay->failure(std::move(head.error()))};
  if (head->status == 101) co_return co_await switch_protocols(relay, std::move(*head));
  if (filter != nullptr) SKIFF_CO_TRY_VOID(filter->judge(*head));
  const auto length = length_of(*head);
  HttpResponse answer{.status = head->status, .headers = forwarded_answer(*head), .body = {}};
  if (relay->options.change_answer) relay->options.change_answer(answer.headers);
  if (filter != nullptr) filter->change(answer.headers);
  // The head is sent together with body bytes that have come already.
  const bool at_once = relay->server.has_more();
  auto begun = co_await relay->http.start(std::move(answer), length,
                                          at_once ? HttpExchange::Send::with_first_write : HttpExchange::Send::now);
  if (!begun) co_return begun;
  co_return co_await send_answer_body(relay);
}

/// Sends the other side the bytes that have come after a head.
Task<Result<>> send_buffered(Upgraded* from, Stream* to, std::chrono::milliseconds stall) {
  const std::string bytes = std::exchange(from->buffered, {});
  const std::array<std::string_view, 1> parts{bytes};
  co_return co_await to->write(parts, stall);
}

}  // namespace

Task<Result<>> relay(HttpExchange* http, HttpClient* server, HttpClient::Request request, RelayOptions options) {
  Relay state{http, server, std::move(options), request.headers.contains("Upgrade")};
  auto connected = co_await server->connect();
  if (!connected) co_return std::unexpected{std::move(state.reason ? *state.reason : connected.error())};
  const BodyFraming body = http->request().body;
  std::optional<std::uint64_t> length{body.length};
  if (body.kind == BodyFraming::Kind::chunked) length.reset();
  http->relay_continue();
  auto started = co_await server->start(std::move(request), length);
  if (!started) co_return std::unexpected{state.failure(std::move(started.error()))};
  co_return co_await run_beside(send_request(&state), send_answer(&state));
}

Task<> carry(Upgraded client, Upgraded server, TunnelLimits limits, std::optional<WallTime> ends) {
  const Expiry end{client.stream.executor(), ends, [&client, &server] {
                     client.stream.close();
                     server.stream.close();
                   }};
  auto sent = co_await send_buffered(&client, &server.stream, limits.stall);
  if (sent) sent = co_await send_buffered(&server, &client.stream, limits.stall);
  limits.budget = client.budget;
  limits.who = &client.who;
  if (sent) co_await tunnel(&client.stream, &server.stream, limits);
}

}  // namespace skiff::protocol
