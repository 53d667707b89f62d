#include "protocol/http/server/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <span>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/clock.hpp"
#include "base/log/log.hpp"
#include "protocol/http/date.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

/// Limits for reading from a client that is still sending after its connection was given up.
constexpr milliseconds kLingerTime{2'000};
constexpr std::size_t kLingerBytes = 8 * 1024 * 1024;
/// RFC 9112, 2.2: empty lines before a request are skipped; some old clients send one after a body.
constexpr int kMostEmptyLines = 2;
/// The bytes of a request's head that are not counted.
constexpr std::size_t kFreeHead = 4 * 1024;
/// After this many pipelined requests, other tasks get the reactor.
constexpr int kPipelinedAtOnce = 32;

milliseconds left_of(milliseconds limit, SteadyTime start) {
  if (limit == kForever) return limit;
  return limit - std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
}

HeadFailure connection_lost(Error error) {
  return {0, std::move(error)};
}

}  // namespace

void HttpConnection::begin_with(std::string_view bytes) {
  const std::size_t most = bytes.size();
  while (!bytes.empty()) {
    const std::span<char> room = input_.buffer().room(most);
    const std::size_t size = std::min(room.size(), bytes.size());
    std::ranges::copy(bytes.substr(0, size), room.begin());
    input_.buffer().received(size);
    bytes.remove_prefix(size);
  }
}

Task<> HttpConnection::run() {
  if (stream_.is_tls()) {
    if (auto done = co_await stream_.handshake(limits().header_time); !done) {
      log::debug("TLS handshake failed", {{"peer", stream_.peer()}, {"error", done.error().message}});
      co_return;
    }
  }
  bool first = true;
  bool go_on = true;
  first_head_ = std::chrono::steady_clock::now();
  int pipelined = 0;
  while (go_on) {
    if (input_.buffer().empty()) {
      if (service_.draining && !first) break;
      input_.buffer().release();
      idle_ = !first;
      slot_.now(ConnectionSlots::Slot::Use::waits);
      auto ready = co_await stream_.readable(patience(first));
      idle_ = false;
      if (!ready) break;
      slot_.now(ConnectionSlots::Slot::Use::works);
      pipelined = 0;
    } else if (++pipelined == kPipelinedAtOnce) {
      co_await asio::post(stream_.executor(), use_task);
      pipelined = 0;
    }
    go_on = co_await serve_one();
    first = false;
    first_head_.reset();
  }
  if (!successor_) stream_.close();
}

milliseconds HttpConnection::patience(bool first) const noexcept {
  if (first) return limits().header_time;
  if (slot_.is_authenticated()) return limits().keep_alive_time;
  return std::min(limits().keep_alive_time, limits().stranger_idle_time);
}

Task<HeadResult<std::size_t>> HttpConnection::read_head(ReceiveBudget::Share* held) {
  const HeadLimits head_limits{limits().header_bytes, limits().target_bytes};
  HeadScanner scanner{head_limits};
  std::optional<SteadyTime> start = first_head_;
  int empty_lines = 0;
  for (;;) {
    while (empty_lines < kMostEmptyLines && input_.buffer().data().starts_with("\r\n")) {
      ++empty_lines;
      input_.buffer().use(2);
      scanner = HeadScanner{head_limits};
    }
    auto found = scanner.scan(input_.buffer().data());
    if (!found || *found > 0) co_return found;
    // The clock is read only for a head that comes in pieces.
    if (!start) start = std::chrono::steady_clock::now();
    const std::size_t size = input_.buffer().data().size();
    const std::size_t most = std::min(limits().header_bytes + 1, size < kFreeHead ? kFreeHead : 2 * size);
    if (!held->hold(most))
      co_return std::unexpected{HeadFailure{503, {Errc::resource_exhausted, std::string{kNoReceiveRoom}}}};
    auto filled = co_await input_.fill(most, left_of(limits().header_time, *start));
    if (!filled && filled.error().code == Errc::timeout && !input_.buffer().empty()) {
      co_return std::unexpected{HeadFailure{408, {Errc::request_timeout, "the request's header took too long"}}};
    }
    if (!filled) co_return std::unexpected{connection_lost(std::move(filled.error()))};
    if (!*filled) co_return std::unexpected{connection_lost({Errc::cancelled, "the client closed the connection"})};
  }
}

Task<bool> HttpConnection::serve_one() {
  keep_alive_ = true;
  // Usually the whole head is there at once, and then no coroutine is needed.
  if (input_.buffer().empty()) {
    if (auto got = stream_.try_read(input_.buffer().room(limits().header_bytes)); got && *got) {
      if (**got == 0) co_return false;
      input_.buffer().received(**got);
    }
  }
  HeadResult<std::size_t> head =
      HeadScanner{{limits().header_bytes, limits().target_bytes}}.scan(input_.buffer().data());
  if (!head || *head == 0) {
    ReceiveBudget::Share reading{service_.options.received,
                                 {.who = &slot_.who(), .patience = limits().header_time, .free = kFreeHead},
                                 [this] { abort(); }};
    head = co_await read_head(&reading);
  }
  // Count the head for the time of the response, which the client does not control: once as received, once as parsed.
  ReceiveBudget::Share held{service_.options.received,
                            {.who = &slot_.who(), .patience = std::chrono::hours{24 * 365}, .free = kFreeHead},
                            [this] { abort(); }};
  if (head && !held.hold(2 * *head)) {
    head = std::unexpected{HeadFailure{503, {Errc::resource_exhausted, std::string{kNoReceiveRoom}}}};
  }
  if (!head) {
    if (head.error().status != 0) co_await refuse(head.error().status, std::move(head.error().error));
    co_return false;
  }
  auto request = parse_request_head(input_.buffer().data().substr(0, *head), limits().target_bytes);
  if (!request) {
    co_await refuse(request.error().status, std::move(request.error().error));
    co_return false;
  }
  if (request->target.fault && !service_.options.takes_faulty_targets) {
    co_await refuse(400, std::move(*request->target.fault));
    co_return false;
  }
  input_.buffer().use(*head);
  input_.begin_body(request->body);
  ++service_.requests;
  keep_alive_ = request->keep_alive;
  // RFC 9110, 10.1.1: a server may omit the 100 when the body is already coming.
  continue_wanted_ =
      !input_.body_done() && input_.buffer().empty() && request->version >= 11 && request->headers.contains("Expect");

  HttpExchange exchange{*this, std::move(*request)};
  if (!co_await answer(exchange)) {
    abort();
    co_return false;
  }
  if (exchange.phase_ == HttpExchange::Phase::upgraded) {
    std::string buffered{input_.buffer().data()};
    successor_.emplace(std::move(exchange.upgrade_),
                       Upgraded{std::move(stream_), std::move(buffered), service_.options.received, slot_.who()});
    co_return false;
  }
  if (keep_alive_ && !input_.body_done() && !co_await drain_body()) keep_alive_ = false;
  if (!keep_alive_) co_await linger();
  co_return keep_alive_;
}

Task<bool> HttpConnection::answer(HttpExchange& exchange) {
  using Phase = HttpExchange::Phase;
  std::string failure;
  bool out_of_memory = false;
  try {
    co_await service_.options.handler(exchange);
  } catch (const std::bad_alloc& error) {
    out_of_memory = true;
    failure = error.what();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error{asio::error::operation_aborted};
  }
  if (!failure.empty()) {
    log::error("a handler failed", {{"method", exchange.request().method}, {"error", failure}});
  }
  if (exchange.phase_ == Phase::waiting) {
    const Error error = out_of_memory     ? Error{Errc::resource_exhausted, "there is not enough memory for this"}
                        : failure.empty() ? Error{Errc::internal, "the handler sent no response"}
                                          : Error{Errc::internal, "the handler failed"};
    exchange.close_after_response();
    auto response = error_response(out_of_memory ? 503 : 500, error);
    auto sent = co_await exchange.respond(std::move(response));
    co_return sent.has_value();
  }
  co_return exchange.phase_ == Phase::done || exchange.phase_ == Phase::upgraded;
}

Task<> HttpConnection::refuse(unsigned status, Error error) {
  HttpResponse response = error_response(status, error);
  if (!service_.options.name.empty()) response.headers.add("Server", service_.options.name);
  response.headers.add("Date", http_date_now());
  response.headers.add("Content-Length", std::to_string(response.body.size()));
  response.headers.add("Connection", "close");
  if (status == 503 && !response.headers.contains("Retry-After")) response.headers.add("Retry-After", "1");
  const std::string head = serialize_head(response.status, response.headers);
  const std::array<std::string_view, 2> parts{head, response.body};
  auto sent = co_await stream_.write(parts, limits().write_stall_time);
  if (sent) co_await linger();
  stream_.close();
}

Task<bool> HttpConnection::drain_body() {
  std::vector<char> sink(16 * 1024);
  std::size_t drained = 0;
  const SteadyTime start = std::chrono::steady_clock::now();
  while (!input_.body_done()) {
    const milliseconds left = left_of(limits().drain_time, start);
    if (left <= milliseconds{0}) co_return false;
    auto got = co_await input_.read_body(sink, std::min(limits().body_idle_time, left));
    if (!got) co_return false;
    drained += *got;
    if (drained > limits().drain_bytes) co_return false;
  }
  co_return true;
}

Task<> HttpConnection::linger() {
  stream_.shutdown_write();
  const SteadyTime start = std::chrono::steady_clock::now();
  std::size_t bytes = 0;
  input_.buffer().release();
  while (!input_.ended() && bytes < kLingerBytes) {
    auto filled = co_await input_.fill(64 * 1024, left_of(kLingerTime, start));
    if (!filled || !*filled) break;
    bytes += input_.buffer().data().size();
    input_.buffer().use(input_.buffer().data().size());
  }
}

void HttpConnection::abort() noexcept {
  if (!stream_.is_open()) return;
  // A reset also informs a client that takes the end of the connection for the end of the body.
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(stream_.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  stream_.close();
}

void HttpConnection::close_if_idle() noexcept {
  if (idle_) stream_.cancel();
}

HttpResponse HttpConnection::error_response(unsigned status, const Error& error) const {
  if (service_.options.error_response) return service_.options.error_response(status, error);
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = error.message + "\n"};
}

const Address& HttpConnection::local_address() {
  if (!local_address_) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    ::getsockname(stream_.fd(), reinterpret_cast<sockaddr*>(&storage), &length);
    local_address_ = std::make_unique<Address>(Address::from_socket(storage, length));
  }
  return *local_address_;
}

}  // namespace skiff::protocol
