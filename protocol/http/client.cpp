#include "protocol/http/client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/clock.hpp"
#include "protocol/http/input.hpp"
#include "protocol/http/parser.hpp"

namespace skiff::protocol {
namespace {

using std::chrono::milliseconds;

/// The limit of interim responses before the final one.
constexpr int kMostInterimHeads = 16;

Error not_connected() {
  return {Errc::io_error, "the connection to the server is not open"};
}

milliseconds left(SteadyTime until) {
  return std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
}

}  // namespace

std::string host_field(const HttpClientOptions& options) {
  const bool ip6 = options.host.find(':') != std::string::npos;
  std::string host = ip6 ? "[" + options.host + "]" : options.host;
  const std::uint16_t usual = options.tls ? 443 : 80;
  if (options.port != 0 && options.port != usual) host += ":" + std::to_string(options.port);
  return host;
}

Task<Result<Stream>> connect(Address address, milliseconds limit, Executor executor) {
  const auto failed = [&](int error) { return std::unexpected{system_error(error, "connect to " + address.text())}; };
  UniqueFd socket{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket) co_return failed(errno);
  if (!address.is_unix()) {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  const int result = ::connect(socket.get(), address.data(), address.size());
  // connect(2) fails with EAGAIN on a Unix socket whose backlog is full, and poll(2) cannot wait for that.
  if (result != 0 && errno != EINPROGRESS) co_return failed(errno);
  Stream stream{executor, std::move(socket), address.text()};
  if (result != 0) {
    if (auto ready = co_await stream.writable(limit); !ready) {
      if (ready.error().code == Errc::timeout) co_return failed(ETIMEDOUT);
      co_return std::unexpected{std::move(ready.error())};
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(stream.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) co_return failed(error);
  }
  co_return stream;
}

/// The connection and the current request. Calls share ownership of it, so the client may be destroyed meanwhile.
struct HttpClient::State {
  State(Executor executor_in, HttpClientOptions options_in) : executor{executor_in}, options{std::move(options_in)} {}

  static Task<Result<>> ensure_connected(std::shared_ptr<State> self);
  static Task<Result<Stream>> dial(std::shared_ptr<State> self, SteadyTime until);
  static Task<Result<Stream>> secure(std::shared_ptr<State> self, Stream stream, SteadyTime until);
  static Task<Result<std::vector<Address>>> addresses(std::shared_ptr<State> self);
  static Task<Result<>> start(std::shared_ptr<State> self, Request request, std::optional<std::uint64_t> length);
  static Task<Result<>> write(std::shared_ptr<State> self, std::span<const std::string_view> parts);
  static Task<Result<>> finish(std::shared_ptr<State> self, Headers trailers);
  static Task<Result<HttpResponseHead>> read_head(std::shared_ptr<State> self, Interim interim = {});
  static Task<Result<>> readable(std::shared_ptr<State> self);
  static Task<Result<HttpResponseHead>> open(std::shared_ptr<State> self, Request request);
  static Task<Result<std::size_t>> read_some(std::shared_ptr<State> self, std::span<char> into);
  static Task<Result<std::string>> read_body(std::shared_ptr<State> self, std::size_t limit);
  static Task<Result<HttpReply>> request(std::shared_ptr<State> self, Request request, std::size_t body_limit);

  void close() noexcept {
    ++closes;
    drop();
  }

  void drop() noexcept {
    stream.close();
    busy = false;
  }

  /// The input reports a body that ends too early as an error of the client; here it is an error of the connection.
  std::unexpected<Error> body_failed(Error error) {
    if (error.code == Errc::invalid_request && input->ended()) error.code = Errc::io_error;
    cut = error.code == Errc::io_error;
    drop();
    return std::unexpected{std::move(error)};
  }

  bool is_reusable() {
    if (busy || !stream.is_open()) return false;
    // An end shows that the server has closed an idle connection; bytes without a request are invalid.
    std::array<char, 1> probe{};
    if (input->buffer().empty() && !stream.try_read(probe)) return true;
    drop();
    return false;
  }

  [[nodiscard]] milliseconds read_idle_time() const { return options.read_idle_time.value_or(options.idle_time); }

  /// At the end of a body: keep the connection only if both sides know where the next message begins.
  void body_ended() {
    busy = false;
    if (!keep_alive || input->ended() || unsent != 0) drop();
  }

  Executor executor;
  HttpClientOptions options;
  Stream stream;
  std::unique_ptr<HttpInput> input;
  std::string method;
  Headers trailers;
  unsigned closes = 0;        ///< number of closes; a call that began before one ends with `cancelled`
  std::uint64_t unsent = 0;   ///< remaining bytes of the request's body; 1 for a chunked body that was not finished
  bool gone = false;          ///< the client was destroyed
  bool busy = false;          ///< a request has begun and its response has not ended
  bool keep_alive = true;     ///< the response allows to keep the connection
  bool chunked = false;       ///< the request's body is chunked
  bool reused = false;        ///< the connection has served a request before
  bool answer_begun = false;  ///< a byte of the response has come
  bool cut = false;           ///< the connection ended before the body of the response
};

Task<Result<std::vector<Address>>> HttpClient::State::addresses(std::shared_ptr<State> self) {
  const HttpClientOptions& options = self->options;
  std::vector<Address> found;
  if (!options.unix_path.empty()) {
    SKIFF_CO_TRY(auto address, Address::parse("unix:" + options.unix_path));
    found.push_back(address);
  } else if (auto literal = Address::ip(options.host, options.port)) {
    found.push_back(*literal);
  } else if (options.resolver) {
    co_return co_await options.resolver(options.host, options.port);
  } else {
    co_return std::unexpected{std::move(literal.error())};
  }
  co_return found;
}

Task<Result<>> HttpClient::State::ensure_connected(std::shared_ptr<State> self) {
  const auto given_up = [] { return fail(Errc::cancelled, "the HTTP client was closed"); };
  if (self->gone) co_return given_up();
  if (self->busy) co_return fail(Errc::internal, "a request was begun before the last one's answer was read");
  self->reused = self->is_reusable();
  if (self->reused) co_return Result<>{};
  const unsigned closes = self->closes;
  const SteadyTime until = std::chrono::steady_clock::now() + self->options.connect_time;
  SKIFF_CO_TRY(auto stream, co_await dial(self, until));
  if (self->closes != closes) co_return given_up();
  self->stream = std::move(stream);
  self->input = std::make_unique<HttpInput>(self->stream);
  co_return Result<>{};
}

/// Returns the first connection to the server that works, including the TLS handshake.
Task<Result<Stream>> HttpClient::State::dial(std::shared_ptr<State> self, SteadyTime until) {
  if (self->options.dial) {
    auto stream = co_await self->options.dial(left(until));
    if (!stream) co_return stream;
    co_return co_await secure(self, std::move(*stream), until);
  }
  SKIFF_CO_TRY(auto found, co_await addresses(self));
  Result<Stream> stream = fail(Errc::io_error, "\"" + self->options.host + "\" has no address");
  for (std::size_t i = 0; i < found.size(); ++i) {
    // An address that does not answer leaves a share of the time for the addresses after it.
    const milliseconds share = left(until) / static_cast<int>(found.size() - i);
    Address target = found[i];
    stream = co_await protocol::connect(std::move(target), share, self->executor);
    if (stream) stream = co_await secure(self, std::move(*stream), until);
    if (stream) break;
  }
  co_return stream;
}

Task<Result<Stream>> HttpClient::State::secure(std::shared_ptr<State> self, Stream stream, SteadyTime until) {
  if (!self->options.tls) co_return stream;
  const std::string& name = self->options.tls_server_name;
  SKIFF_CO_TRY(auto session, self->options.tls->session(stream.fd(), name.empty() ? self->options.host : name));
  stream.secure(std::move(session));
  SKIFF_CO_TRY_VOID(co_await stream.handshake(left(until)));
  co_return stream;
}

Task<Result<>> HttpClient::State::start(std::shared_ptr<State> self, Request request,
                                        std::optional<std::uint64_t> length) {
  if (!is_token(request.method))
    co_return fail(Errc::invalid_field, "\"" + request.method + "\" is not an HTTP method");
  SKIFF_CO_TRY_VOID(co_await ensure_connected(self));
  // Send each field once: servers disagree about duplicates. The caller may set Host, but not the framing.
  const std::string host{request.headers.find("Host").value_or(host_field(self->options))};
  for (const std::string_view name : {"Host", "Content-Length", "Transfer-Encoding"}) request.headers.remove(name);
  Headers headers{{"Host", host}};
  headers.append(request.headers);
  const bool may_be_empty =
      request.method == "GET" || request.method == "HEAD" || request.method == "DELETE" || request.method == "CONNECT";
  self->chunked = !length.has_value();
  if (self->chunked) {
    headers.add("Transfer-Encoding", "chunked");
  } else if (*length > 0 || !may_be_empty) {
    headers.add("Content-Length", std::to_string(*length));
  }
  self->method = request.method;
  self->unsent = length ? *length - std::min<std::uint64_t>(*length, request.body.size()) : 1;
  self->busy = true;
  self->answer_begun = false;
  self->cut = false;
  self->trailers.clear();
  const std::string head = serialize_request_head(request.method, request.target, headers);
  const std::array<std::string_view, 2> parts{head,
                                              self->chunked ? std::string_view{} : std::string_view{request.body}};
  auto sent = co_await self->stream.write(parts, self->options.idle_time);
  if (!sent) self->drop();
  co_return sent;
}

Task<Result<>> HttpClient::State::write(std::shared_ptr<State> self, std::span<const std::string_view> parts) {
  if (!self->busy) co_return std::unexpected{not_connected()};
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  if (size == 0) co_return Result<>{};
  std::array<char, 20> chunk_size{};
  std::vector<std::string_view> all;
  all.reserve(parts.size() + 2);
  if (self->chunked) {
    auto [end, error] = std::to_chars(chunk_size.data(), chunk_size.data() + 16, size, 16);
    *end++ = '\r';
    *end++ = '\n';
    all.emplace_back(chunk_size.data(), end);
  }
  all.insert(all.end(), parts.begin(), parts.end());
  if (self->chunked) all.emplace_back("\r\n");
  // A failed write is not the end: the server may have responded early and closed, and its response can still be read.
  auto sent = co_await self->stream.write(all, self->options.idle_time);
  if (sent && !self->chunked) self->unsent -= std::min<std::uint64_t>(self->unsent, size);
  co_return sent;
}

Task<Result<>> HttpClient::State::finish(std::shared_ptr<State> self, Headers trailers) {
  if (!self->busy) co_return std::unexpected{not_connected()};
  if (!self->chunked) co_return Result<>{};
  const std::array<std::string_view, 3> parts{"0\r\n", trailers.wire(), "\r\n"};
  auto sent = co_await self->stream.write(parts, self->options.idle_time);
  if (sent) self->unsent = 0;
  co_return sent;
}

Task<Result<HttpResponseHead>> HttpClient::State::read_head(std::shared_ptr<State> self, Interim interim) {
  if (!self->busy) co_return std::unexpected{not_connected()};
  const std::size_t most = self->options.header_bytes;
  for (int heads = 0; heads < kMostInterimHeads; ++heads) {
    HeadScanner scanner{{.header_bytes = most, .target_bytes = most, .bare_feeds = self->options.bare_feeds}};
    HeadResult<std::size_t> size{0};
    for (;;) {
      if (!self->input->buffer().empty()) self->answer_begun = true;
      size = scanner.scan(self->input->buffer().data());
      if (!size || *size > 0) break;
      auto filled = co_await self->input->fill(most + 1, self->read_idle_time());
      if (!filled || !*filled) {
        self->drop();
        if (!filled) co_return std::unexpected{std::move(filled.error())};
        co_return fail(Errc::io_error, "the server closed the connection before it answered");
      }
    }
    if (!size) {
      self->drop();
      co_return fail(Errc::invalid_request, "the server's answer: " + size.error().error.message);
    }
    const std::string_view text = self->input->buffer().data().substr(0, *size);
    auto head = self->options.bare_feeds ? parse_response_head(with_returns(text), self->method)
                                         : parse_response_head(text, self->method);
    if (!head) {
      self->drop();
      co_return head;
    }
    self->input->buffer().use(*size);
    if (head->status / 100 == 1 && head->status != 101) {
      if (interim) {
        if (auto passed = co_await interim(std::move(*head)); !passed) {
          self->drop();
          co_return std::unexpected{std::move(passed.error())};
        }
      }
      continue;
    }
    self->keep_alive = head->keep_alive;
    self->input->begin_body(head->body, self->options.bare_feeds);
    const bool upgraded = head->status == 101 || (self->method == "CONNECT" && head->status / 100 == 2);
    if (!upgraded && self->input->body_done()) self->body_ended();
    co_return head;
  }
  self->drop();
  co_return fail(Errc::invalid_request, "the server's answer: interim responses without an end");
}

Task<Result<HttpResponseHead>> HttpClient::State::open(std::shared_ptr<State> self, Request request) {
  const std::uint64_t length = request.body.size();
  // Copy only requests that may be repeated (RFC 9110, 9.2.2): the server may have acted before it closed.
  const bool can_retry = request.method != "POST" && request.method != "PATCH";
  Request copy = can_retry ? request : Request{};
  auto started = co_await start(self, std::move(request), length);
  Result<HttpResponseHead> head = std::unexpected{Error{}};
  if (started) {
    head = co_await read_head(self);
    if (head) co_return head;
  } else {
    head = std::unexpected{std::move(started.error())};
  }
  // The server closed the kept connection while the request was on its way.
  const bool stale = can_retry && self->reused && !self->answer_begun && head.error().code != Errc::timeout &&
                     head.error().code != Errc::cancelled;
  if (!stale) co_return head;
  self->drop();
  started = co_await start(self, std::move(copy), length);
  if (!started) co_return std::unexpected{std::move(started.error())};
  co_return co_await read_head(self);
}

Task<Result<std::size_t>> HttpClient::State::read_some(std::shared_ptr<State> self, std::span<char> into) {
  if (!self->busy) co_return std::size_t{0};
  auto got = co_await self->input->read_body(into, self->read_idle_time());
  if (!got) co_return self->body_failed(std::move(got.error()));
  if (*got == 0 || self->input->body_done()) {
    if (self->input->body_kind() == BodyFraming::Kind::chunked) self->trailers = std::move(self->input->trailers());
    if (self->input->body_done()) self->body_ended();
  }
  co_return got;
}

Task<Result<>> HttpClient::State::readable(std::shared_ptr<State> self) {
  if (!self->busy || self->input->has_body()) co_return Result<>{};
  co_return co_await self->stream.readable(self->read_idle_time());
}

Task<Result<std::string>> HttpClient::State::read_body(std::shared_ptr<State> self, std::size_t limit) {
  if (!self->busy) co_return std::string{};
  auto body = co_await self->input->read_whole_body(limit, self->read_idle_time());
  if (!body) co_return self->body_failed(std::move(body.error()));
  if (self->input->body_kind() == BodyFraming::Kind::chunked) self->trailers = std::move(self->input->trailers());
  self->body_ended();
  co_return body;
}

Task<Result<HttpReply>> HttpClient::State::request(std::shared_ptr<State> self, Request request,
                                                   std::size_t body_limit) {
  const bool can_repeat = request.method == "GET" || request.method == "HEAD";
  const unsigned closes = self->closes;
  Request again = can_repeat ? request : Request{};
  auto head = co_await open(self, std::move(request));
  if (!head) co_return std::unexpected{std::move(head.error())};
  auto body = co_await read_body(self, body_limit);
  if (!body && can_repeat && self->cut && self->closes == closes) {
    head = co_await open(self, std::move(again));
    if (!head) co_return std::unexpected{std::move(head.error())};
    body = co_await read_body(self, body_limit);
  }
  if (!body) co_return std::unexpected{std::move(body.error())};
  co_return HttpReply{.head = std::move(*head), .body = std::move(*body)};
}

HttpClient::HttpClient(Executor executor, HttpClientOptions options)
    : state_{std::make_shared<State>(executor, std::move(options))} {}
HttpClient::~HttpClient() {
  state_->gone = true;
  state_->close();
}

bool HttpClient::is_reusable() {
  return state_->is_reusable();
}
Task<Result<>> HttpClient::connect() {
  return State::ensure_connected(state_);
}
Task<Result<HttpReply>> HttpClient::request(Request request, std::size_t body_limit) {
  return State::request(state_, std::move(request), body_limit);
}
Task<Result<HttpResponseHead>> HttpClient::open(Request request) {
  return State::open(state_, std::move(request));
}
Task<Result<>> HttpClient::start(Request request, std::optional<std::uint64_t> length) {
  request.body.clear();
  return State::start(state_, std::move(request), length);
}
Task<Result<>> HttpClient::write(std::span<const std::string_view> parts) {
  return State::write(state_, parts);
}
Task<Result<>> HttpClient::finish(Headers trailers) {
  return State::finish(state_, std::move(trailers));
}
Task<Result<HttpResponseHead>> HttpClient::read_head(Interim interim) {
  return State::read_head(state_, std::move(interim));
}
bool HttpClient::has_more() const {
  return !state_->busy || state_->input->has_body();
}
Task<Result<>> HttpClient::readable() {
  return State::readable(state_);
}
Task<Result<std::size_t>> HttpClient::read_some(std::span<char> into) {
  return State::read_some(state_, into);
}
Task<Result<std::string>> HttpClient::read_body(std::size_t limit) {
  return State::read_body(state_, limit);
}
bool HttpClient::answer_begun() const noexcept {
  return state_->answer_begun;
}
bool HttpClient::was_cut() const noexcept {
  return state_->cut;
}
const Headers& HttpClient::trailers() const noexcept {
  return state_->trailers;
}

Upgraded HttpClient::take_upgraded() {
  std::string buffered;
  if (state_->input) buffered = state_->input->buffer().data();
  state_->busy = false;
  Upgraded upgraded{std::move(state_->stream), std::move(buffered)};
  state_->input.reset();
  return upgraded;
}

void HttpClient::probe_peer(std::chrono::seconds idle) noexcept {
  state_->stream.probe_peer(idle);
}
void HttpClient::close() noexcept {
  state_->close();
}
bool HttpClient::connected() const noexcept {
  return state_->stream.is_open();
}

}  // namespace skiff::protocol
