#include "protocol/http2/exchange.hpp"

#include <utility>

#include "base/async/deadline.hpp"
#include "base/log/log.hpp"
#include "protocol/http2/connection.hpp"

namespace skiff::protocol {
namespace {

/// The bytes of each message that are not counted: a connection has hundreds of streams, each with an incomplete
/// message.
constexpr std::size_t kFreeOfStream = 1024;

std::unexpected<Error> stream_is_over() {
  return fail(Errc::cancelled, "the client has cancelled the request or is gone");
}

}  // namespace

Http2Exchange::~Http2Exchange() {
  if (!finished_) reset(Http2Code::internal_error);
}

std::string_view Http2Exchange::peer() const noexcept {
  return connection_.stream_.peer();
}

Executor Http2Exchange::executor() const noexcept {
  return connection_.stream_.executor();
}

Result<> Http2Exchange::mark_authenticated(Holder holder) {
  if (connection_.slot_.mark_authenticated(std::move(holder))) return {};
  log::debug("connection refused", {{"peer", peer()}});
  return fail(Errc::too_many_connections, std::string{kNoSlot});
}

void Http2Exchange::forget_head() {
  connection_.session_.forget_head(*stream_);
  connection_.hold();
}

std::unique_ptr<ReceiveBudget::Share> Http2Exchange::share(std::chrono::milliseconds patience) {
  auto lost = [stream = stream_] {
    stream->is_given_up = true;
    stream->changed.notify_all();
  };
  return std::make_unique<ReceiveBudget::Share>(
      connection_.options_.received,
      ReceiveBudget::Terms{.who = &connection_.slot_.who(), .patience = patience, .free = kFreeOfStream},
      std::move(lost));
}

Task<Result<std::string>> Http2Exchange::read(std::chrono::milliseconds limit) {
  bool overdue = false;
  Deadline patience{executor(), [this, &overdue] {
                      overdue = true;
                      stream_->changed.notify_all();
                    }};
  patience.expires_after(limit);
  while (stream_->inbox.empty() || stream_->is_given_up) {
    if (stream_->is_given_up) co_return fail(Errc::resource_exhausted, std::string{kNoReceiveRoom});
    if (stream_->closed) co_return stream_is_over();
    if (stream_->ended) co_return std::string{};
    if (overdue) co_return fail(Errc::request_timeout, "the client stopped in the middle of the request");
    co_await stream_->changed.wait();
  }
  std::string bytes = std::exchange(stream_->inbox, {});
  connection_.session_.consumed(*stream_, bytes.size());
  connection_.hold();
  connection_.wake();
  co_return bytes;
}

Result<> Http2Exchange::start(const Headers& head, unsigned status) {
  if (is_closed()) return stream_is_over();
  connection_.session_.respond(*stream_, head, status, true);
  connection_.wake();
  return {};
}

Task<Result<>> Http2Exchange::write(std::span<const std::string_view> parts) {
  const std::size_t size = total_size(parts);
  if (is_closed()) co_return stream_is_over();
  if (size == 0) co_return Result<>{};
  // The session copies the bytes that it takes; the destructor of this frame ends its access to the parts.
  struct Outbox {
    ~Outbox() {
      stream.outbox = {};
      stream.taken = 0;
    }
    Http2Stream& stream;
  };
  const Outbox outbox{*stream_};
  stream_->outbox = parts;
  stream_->taken = 0;
  connection_.session_.resume(*stream_);
  connection_.wake();
  while (!stream_->outbox.empty()) co_await stream_->changed.wait();
  if (is_closed()) co_return stream_is_over();
  bytes_sent_ += size;
  co_return Result<>{};
}

void Http2Exchange::finish(Headers trailers) {
  finished_ = true;
  stream_->trailers = std::move(trailers);
  connection_.session_.resume(*stream_);
  connection_.wake();
}

void Http2Exchange::respond(const Headers& head, unsigned status) {
  finished_ = true;
  connection_.session_.respond(*stream_, head, status, false);
  connection_.wake();
}

void Http2Exchange::reset(Http2Code code) {
  finished_ = true;
  connection_.session_.reset(*stream_, code);
  connection_.wake();
}

Task<> Http2Exchange::closed() {
  while (!is_closed()) co_await stream_->changed.wait();
}

}  // namespace skiff::protocol
