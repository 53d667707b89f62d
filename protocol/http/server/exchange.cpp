#include "protocol/http/server/exchange.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/log/log.hpp"
#include "protocol/http/date.hpp"
#include "protocol/http/server/connection.hpp"

namespace skiff::protocol {
namespace asio = boost::asio;
namespace {

/// The bytes of a next request that are kept during the current response.
constexpr std::size_t kKeptAhead = 4 * 1024;

Error misuse(std::string_view what) {
  return {Errc::internal, "a handler misused the exchange: " + std::string{what}};
}

bool never_has_a_body(unsigned status) noexcept {
  return status / 100 == 1 || status == 204 || status == 304;
}

/// Translates the error of a slow body into HTTP's terms.
Error body_error(Error error) {
  if (error.code == Errc::timeout) return {Errc::request_timeout, "the request's body took too long"};
  return error;
}

}  // namespace

HttpExchange::HttpExchange(HttpConnection& connection, HttpRequest request)
    : connection_{connection}, request_{std::move(request)} {}

const Address& HttpExchange::local_address() const {
  return connection_.local_address();
}
std::string_view HttpExchange::peer() const noexcept {
  return connection_.stream_.peer();
}
bool HttpExchange::is_tls() const noexcept {
  return connection_.stream_.is_tls();
}
Executor HttpExchange::executor() const noexcept {
  return connection_.stream_.executor();
}

Result<> HttpExchange::mark_authenticated(Holder holder) {
  if (connection_.slot_.mark_authenticated(std::move(holder))) return {};
  close_after_ = true;
  log::debug("connection refused", {{"peer", peer()}});
  return fail(Errc::too_many_connections, std::string{kNoSlot});
}

std::unique_ptr<ReceiveBudget::Share> HttpExchange::share(std::function<void()> lost) {
  if (!lost) lost = [this] { connection_.input_.give_up_body(); };
  return std::make_unique<ReceiveBudget::Share>(
      budget(), ReceiveBudget::Terms{.who = &who(), .patience = connection_.limits().body_idle_time}, std::move(lost));
}

ReceiveBudget* HttpExchange::budget() const noexcept {
  return connection_.service_.options.received;
}

const std::string& HttpExchange::who() const noexcept {
  return connection_.slot_.who();
}

// --- the request's body
// -----------------------------------------------------------------------------------------------

Task<Result<>> HttpExchange::send_continue() {
  if (relays_continue_) co_return Result<>{};
  if (!std::exchange(connection_.continue_wanted_, false) || phase_ != Phase::waiting) co_return Result<>{};
  const std::array<std::string_view, 1> parts{"HTTP/1.1 100 Continue\r\n\r\n"};
  co_return co_await connection_.stream_.write(parts, connection_.limits().write_stall_time);
}

Task<Result<std::string>> HttpExchange::read_body(std::size_t limit) {
  HttpInput& input = connection_.input_;
  if (input.body_done()) co_return std::string{};
  // Do not request a body that is known to be too large.
  if (input.body_left() <= limit) {
    SKIFF_CO_TRY_VOID(co_await send_continue());
  }
  auto body = co_await input.read_whole_body(limit, connection_.limits().body_idle_time, budget(), &who());
  if (!body) {
    // The rest of the body cannot be separated from a next request, or is not worth the wait.
    if (body.error().code != Errc::payload_too_large) close_after_ = true;
    co_return std::unexpected{body_error(std::move(body.error()))};
  }
  co_return body;
}

Task<Result<std::size_t>> HttpExchange::read_body_some(std::span<char> into) {
  HttpInput& input = connection_.input_;
  if (input.body_done()) co_return std::size_t{0};
  if (connection_.continue_wanted_) {
    SKIFF_CO_TRY_VOID(co_await send_continue());
  }
  auto got = co_await input.read_body(into, connection_.limits().body_idle_time);
  if (got) co_return got;
  close_after_ = true;
  co_return std::unexpected{body_error(std::move(got.error()))};
}

void HttpExchange::end_body_at(std::optional<WallTime> end) noexcept {
  if (end) connection_.input_.end_body_at(*end);
}

bool HttpExchange::has_body() {
  return connection_.input_.has_body();
}

Task<Result<>> HttpExchange::body_readable() {
  if (has_body()) co_return Result<>{};
  SKIFF_CO_TRY_VOID(co_await send_continue());
  auto ready = co_await connection_.input_.body_readable(connection_.limits().body_idle_time);
  if (ready) co_return ready;
  close_after_ = true;
  co_return std::unexpected{body_error(std::move(ready.error()))};
}

const Headers& HttpExchange::trailers() const noexcept {
  static const Headers none;
  HttpInput& input = connection_.input_;
  return input.body_kind() == BodyFraming::Kind::chunked ? input.trailers() : none;
}

// --- the response
// -----------------------------------------------------------------------------------------------------

Result<> HttpExchange::begin_head(const HttpResponse& head, std::optional<std::uint64_t> length, bool streamed) {
  if (phase_ != Phase::waiting) return std::unexpected{misuse("a second response")};
  status_ = head.status;
  const bool no_body = never_has_a_body(head.status);
  bodiless_ = no_body || request_.method == "HEAD";
  counted_ = length.has_value() && !bodiless_;
  body_bytes_left_ = length.value_or(0);
  const bool modern = request_.version >= 11;
  chunked_ = streamed && !length && modern && !no_body;
  bool keep = connection_.keep_alive_ && !close_after_ && !connection_.service_.draining;
  // Without a length, a body to HTTP/1.0 ends with the connection.
  if (streamed && !length && !modern && !bodiless_) keep = false;
  // The client may or may not send the announced body, so the next bytes are ambiguous.
  if (connection_.continue_wanted_) keep = false;
  if (connection_.input_.body_left() > connection_.limits().drain_bytes) keep = false;
  connection_.keep_alive_ = keep;

  const std::string_view reason = reason_phrase(head.status);
  head_.clear();
  head_.reserve(192 + head.headers.wire().size() + extra_headers_.wire().size());
  std::array<char, 24> number{};
  const auto append_number = [&](std::uint64_t value) {
    const auto [end, error] = std::to_chars(number.data(), number.data() + number.size(), value);
    head_.append(number.data(), end);
  };
  head_ += "HTTP/1.1 ";
  append_number(head.status);
  head_ += ' ';
  head_ += reason;
  head_ += "\r\n";
  // A forwarded response has its own Server and Date: RFC 9110, 6.6.1 and 10.2.4.
  const std::string& server = connection_.service_.options.name;
  if (!server.empty() && !head.headers.contains("Server")) head_.append("Server: ").append(server).append("\r\n");
  if (!head.headers.contains("Date")) {
    head_ += "Date: ";
    head_ += http_date_now();
    head_ += "\r\n";
  }
  head_ += head.headers.wire();
  for (const auto [name, value] : extra_headers_) {
    if (head.headers.contains(name)) continue;
    head_ += name;
    head_ += ": ";
    head_ += value;
    head_ += "\r\n";
  }
  if (length && !no_body) {
    head_ += "Content-Length: ";
    append_number(*length);
    head_ += "\r\n";
  } else if (chunked_) {
    head_ += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep && head.status != 101) head_ += "Connection: close\r\n";
  if (keep && !modern) head_ += "Connection: keep-alive\r\n";
  head_ += "\r\n";
  chunked_ = chunked_ && !bodiless_;
  return {};
}

Task<Result<>> HttpExchange::send(std::span<const std::string_view> parts) {
  auto sent = co_await connection_.stream_.write(parts, connection_.limits().write_stall_time);
  if (!sent) phase_ = Phase::failed;
  co_return sent;
}

Task<Result<>> HttpExchange::inform(unsigned status, Headers headers) {
  if (phase_ != Phase::waiting) co_return std::unexpected{misuse("an interim response behind the final one")};
  if (request_.version < 11) co_return Result<>{};
  if (status == 100) connection_.continue_wanted_ = false;
  const std::string head = serialize_head(status, headers);
  const std::array<std::string_view, 1> parts{head};
  co_return co_await send(parts);
}

Task<Result<>> HttpExchange::respond(HttpResponse response) {
  SKIFF_CO_TRY_VOID(begin_head(response, response.body.size(), false));
  const std::array<std::string_view, 2> parts{head_, bodiless_ ? std::string_view{} : std::string_view{response.body}};
  phase_ = Phase::done;
  body_bytes_sent_ = parts[1].size();
  const std::size_t all = total_size(parts);
  // Usually the socket takes all bytes at once, so no wait is needed.
  auto sent = connection_.stream_.try_write(parts);
  if (sent && *sent == all) co_return Result<>{};
  if (!sent) {
    phase_ = Phase::failed;
    co_return std::unexpected{std::move(sent.error())};
  }
  std::array<std::string_view, 2> rest = parts;
  std::size_t skip = *sent;
  for (std::string_view& part : rest) {
    const std::size_t cut = std::min(skip, part.size());
    part.remove_prefix(cut);
    skip -= cut;
  }
  std::optional<HeldAnswers::Held> held;
  if (response.body.size() > HeldAnswers::kFree) {
    held.emplace(connection_.service_.answers, who(), response.body.size(), [this] { connection_.abort(); });
  }
  co_return co_await send(rest);
}

Task<Result<>> HttpExchange::start(HttpResponse head, std::optional<std::uint64_t> length, Send when) {
  SKIFF_CO_TRY_VOID(begin_head(head, length, true));
  phase_ = Phase::body;
  if (when == Send::with_first_write) co_return Result<>{};
  co_return co_await send_head();
}

Task<Result<>> HttpExchange::send_head() {
  const std::string head = std::exchange(head_, {});
  const std::array<std::string_view, 1> parts{head};
  co_return co_await send(parts);
}

Task<Result<>> HttpExchange::write(std::span<const std::string_view> parts) {
  if (phase_ != Phase::body) co_return std::unexpected{misuse("a write outside of a streamed response")};
  const std::size_t size = total_size(parts);
  if (size == 0) co_return Result<>{};
  if (bodiless_) {
    if (head_.empty()) co_return Result<>{};
    co_return co_await send_head();
  }
  if (counted_ && size > body_bytes_left_) co_return std::unexpected{misuse("more bytes than the response's length")};

  const std::string head = std::exchange(head_, {});
  std::array<char, 20> chunk_size{};
  std::vector<std::string_view> all;
  all.reserve(parts.size() + 3);
  all.push_back(head);
  if (chunked_) {
    auto [end, error] = std::to_chars(chunk_size.data(), chunk_size.data() + 16, size, 16);
    *end++ = '\r';
    *end++ = '\n';
    all.emplace_back(chunk_size.data(), end);
  }
  all.insert(all.end(), parts.begin(), parts.end());
  if (chunked_) all.emplace_back("\r\n");
  auto sent = co_await send(all);
  if (!sent) co_return sent;
  body_bytes_sent_ += size;
  if (counted_) body_bytes_left_ -= size;
  co_return sent;
}

Task<Result<>> HttpExchange::write(std::string_view bytes) {
  const std::array<std::string_view, 1> parts{bytes};
  co_return co_await write(parts);
}

namespace {

/// The bytes of one job on a disk thread: others wait for that thread, too.
constexpr std::uint64_t kFileTurn = 16U << 20U;
constexpr std::size_t kFileBlock = 256U << 10U;

struct FileStep {
  std::uint64_t sent = 0;
  int error = 0;  ///< EAGAIN: the socket's buffer is full
};

FileStep send_some(int socket, int file, std::uint64_t offset, std::uint64_t length) {
  FileStep step;
  const std::uint64_t most = std::min(length, kFileTurn);
  auto at = static_cast<off_t>(offset);
  while (step.sent < most) {
    const ssize_t sent = ::sendfile(socket, file, &at, most - step.sent);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) step.error = errno;
    if (sent == 0) step.error = ENODATA;
    if (sent <= 0) break;
    step.sent += static_cast<std::uint64_t>(sent);
  }
  return step;
}

Error cut_file() {
  return {Errc::io_error, "the file has become shorter while it was sent"};
}

}  // namespace

Task<Result<>> HttpExchange::send_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length) {
  if (phase_ != Phase::body || !(counted_ || bodiless_)) {
    co_return std::unexpected{misuse("a file outside of a streamed response with a length")};
  }
  if (!head_.empty()) {
    SKIFF_CO_TRY_VOID(co_await send_head());
  }
  if (bodiless_) co_return Result<>{};
  if (length > body_bytes_left_) co_return std::unexpected{misuse("more bytes than the response's length")};
  if (is_tls()) co_return co_await copy_file(disk, file, offset, length);
  co_return co_await splice_file(disk, file, offset, length);
}

Task<Result<>> HttpExchange::splice_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length) {
  // A descriptor of its own, so that a disk thread never uses a number that was closed and reused meanwhile.
  const UniqueFd socket{::fcntl(connection_.stream_.fd(), F_DUPFD_CLOEXEC, 0)};
  if (!socket) co_return std::unexpected{system_error(errno, "send a file")};
  while (length > 0) {
    auto turn = [&] { return send_some(socket.get(), file, offset, length); };
    const FileStep step = co_await disk.run(std::move(turn));
    offset += step.sent;
    length -= step.sent;
    body_bytes_sent_ += step.sent;
    body_bytes_left_ -= step.sent;
    if (step.error == EAGAIN) {
      auto ready = co_await connection_.stream_.writable(connection_.limits().write_stall_time);
      if (!ready) co_return ready;
    } else if (step.error == ENODATA) {
      co_return std::unexpected{cut_file()};
    } else if (step.error != 0) {
      co_return std::unexpected{system_error(step.error, "send a file")};
    }
  }
  co_return Result<>{};
}

Task<Result<>> HttpExchange::copy_file(BlockingPool& disk, int file, std::uint64_t offset, std::uint64_t length) {
  const auto block = std::make_unique_for_overwrite<char[]>(kFileBlock);
  while (length > 0) {
    auto turn = [&] {
      return ::pread(file, block.get(), std::min<std::uint64_t>(length, kFileBlock), static_cast<off_t>(offset));
    };
    const ssize_t got = co_await disk.run(std::move(turn));
    if (got == 0) co_return std::unexpected{cut_file()};
    if (got < 0) co_return fail(Errc::io_error, "the file can't be read any more");
    const std::string_view bytes{block.get(), static_cast<std::size_t>(got)};
    SKIFF_CO_TRY_VOID(co_await write(bytes));
    offset += bytes.size();
    length -= bytes.size();
  }
  co_return Result<>{};
}

Task<Result<>> HttpExchange::finish(Headers trailers) {
  if (phase_ != Phase::body) co_return std::unexpected{misuse("finish outside of a streamed response")};
  if (counted_ && body_bytes_left_ > 0) {
    phase_ = Phase::failed;
    co_return std::unexpected{misuse("fewer bytes than the response's length")};
  }
  std::string last = std::exchange(head_, {});
  if (chunked_) {
    last += "0\r\n";
    last += trailers.wire();
    last += "\r\n";
  }
  phase_ = Phase::done;
  if (last.empty()) co_return Result<>{};
  const std::array<std::string_view, 1> parts{last};
  co_return co_await send(parts);
}

// --- the connection
// ---------------------------------------------------------------------------------------------------

Task<bool> HttpExchange::peer_closed() {
  co_await asio::this_coro::throw_if_cancelled(false);
  HttpInput& input = connection_.input_;
  // Bytes after the request are kept during the response.
  const std::size_t most = std::min(kKeptAhead, connection_.limits().header_bytes);
  while (!input.ended() && connection_.stream_.is_open()) {
    if (input.buffer().data().size() >= most) {
      // The buffer is full, so an end of the stream cannot be read; only a reset can still be detected.
      (void)co_await connection_.stream_.broken();
      break;
    }
    auto filled = co_await input.fill(most, kForever);
    if (!filled) break;
  }
  const auto state = co_await asio::this_coro::cancellation_state;
  co_await asio::this_coro::throw_if_cancelled(true);
  co_return state.cancelled() == asio::cancellation_type::none;
}

Task<> HttpExchange::watch_peer(std::function<void()> gone) {
  const bool closed = co_await peer_closed();
  if (closed) gone();
}

bool HttpExchange::peer_has_shut() const noexcept {
  return connection_.input_.ended();
}

void HttpExchange::probe_peer(std::chrono::seconds idle) noexcept {
  connection_.stream_.probe_peer(idle);
}

void HttpExchange::cancel() noexcept {
  connection_.stream_.cancel();
}

Task<Result<>> HttpExchange::upgrade(Headers headers, UpgradeHandler handler) {
  if (!connection_.slot_.is_authenticated()) {
    SKIFF_CO_TRY_VOID(mark_authenticated());
  }
  const HttpResponse head{.status = 101, .headers = std::move(headers), .body = {}};
  SKIFF_CO_TRY_VOID(begin_head(head, std::nullopt, false));
  upgrade_ = std::move(handler);
  phase_ = Phase::upgraded;
  co_return co_await send_head();
}

}  // namespace skiff::protocol
