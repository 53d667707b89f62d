#include "protocol/http/input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/async/expiry.hpp"

namespace skiff::protocol {
namespace {

constexpr std::size_t kFirstBuffer = 4 * 1024;
constexpr std::size_t kBodyBuffer = 64 * 1024;
/// The largest single read of a whole body.
constexpr std::size_t kBodyRead = 256 * 1024;

std::unexpected<Error> expired() {
  return fail(Errc::unauthenticated, std::string{kExpired});
}

}  // namespace

std::span<char> ReceiveBuffer::room(std::size_t most) {
  const std::size_t held = end_ - begin_;
  if (held >= most) return {};
  if (begin_ > 0) {
    std::memmove(memory_.get(), memory_.get() + begin_, held);
    begin_ = 0;
    end_ = held;
  }
  if (end_ == capacity_) {
    const std::size_t wanted = std::min(std::max(kFirstBuffer, capacity_ * 2), std::max(most, capacity_ + 1));
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (held > 0) std::memcpy(larger.get(), memory_.get(), held);
    memory_ = std::move(larger);
    capacity_ = wanted;
  }
  return {memory_.get() + end_, std::min(capacity_, most) - end_};
}

void ReceiveBuffer::use(std::size_t count) noexcept {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

void ReceiveBuffer::release() noexcept {
  memory_.reset();
  capacity_ = begin_ = end_ = 0;
}

Task<Result<bool>> HttpInput::fill(Of what, std::size_t most, std::chrono::milliseconds limit) {
  const std::uint64_t before = received_;
  for (;;) {
    // Another call, which watches for the peer's end, may have read while this one waited.
    if (received_ != before) co_return true;
    if (ended_) co_return false;
    const std::span<char> room = buffer_.room(most);
    if (room.empty()) co_return false;
    if (auto got = stream_.try_read(room)) {
      if (!*got) co_return std::unexpected{std::move(got->error())};
      note(**got);
      buffer_.received(**got);
      co_return **got > 0;
    }
    SKIFF_CO_TRY_VOID(co_await (what == Of::body ? body_readable(limit) : stream_.readable(limit)));
  }
}

Task<Result<>> HttpInput::body_readable(std::chrono::milliseconds idle_limit) {
  return body_end_ ? readable_until_end(idle_limit) : stream_.readable(idle_limit);
}

Task<Result<>> HttpInput::readable_until_end(std::chrono::milliseconds idle_limit) {
  using std::chrono::milliseconds;
  for (;;) {
    if (body_is_over()) co_return expired();
    const milliseconds limit = std::min(idle_limit, std::chrono::ceil<milliseconds>(*body_end_ - wall_now()));
    auto ready = co_await stream_.readable(limit);
    if (body_is_over()) co_return expired();
    const bool is_late = !ready && ready.error().code == Errc::timeout;
    if (!is_late || given_up_ || limit == idle_limit) co_return ready;
    idle_limit -= limit;  // the wall clock is behind the steady clock, or was set
  }
}

void HttpInput::note(std::size_t got) noexcept {
  received_ += got;
  if (got == 0) ended_ = true;
}

void HttpInput::begin_body(BodyFraming framing, bool takes_spaces) {
  framing_ = framing;
  left_ = framing.kind == BodyFraming::Kind::length ? framing.length : 0;
  if (framing.kind == BodyFraming::Kind::chunked) {
    chunks_ = std::make_unique<ChunkedDecoder>(takes_spaces);
  } else {
    chunks_.reset();
  }
  broken_.reset();
  body_end_.reset();
  given_up_ = false;
  body_done_ =
      framing.kind == BodyFraming::Kind::none || (framing.kind == BodyFraming::Kind::length && framing.length == 0);
}

void HttpInput::take_framing() {
  if (broken_) return;
  auto used = chunks_->consume(buffer_.data());
  if (used) {
    buffer_.use(*used);
  } else {
    broken_ = std::make_unique<Error>(std::move(used.error()));
  }
}

bool HttpInput::has_body() {
  if (body_done_) return true;
  if (framing_.kind != BodyFraming::Kind::chunked) return !buffer_.empty();
  take_framing();
  return broken_ || chunks_->done() || (chunks_->payload_left() > 0 && !buffer_.empty());
}

Task<Result<std::size_t>> HttpInput::read_payload(std::span<char> into, std::uint64_t most,
                                                  std::chrono::milliseconds idle_limit) {
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), most)));
  for (;;) {
    if (!buffer_.empty()) {
      const std::size_t count = std::min(into.size(), buffer_.data().size());
      std::memcpy(into.data(), buffer_.data().data(), count);
      buffer_.use(count);
      co_return count;
    }
    if (ended_) co_return std::size_t{0};
    // The buffer is empty, so read directly into the caller's memory.
    if (auto got = stream_.try_read(into)) {
      if (*got) note(**got);
      co_return std::move(*got);
    }
    SKIFF_CO_TRY_VOID(co_await body_readable(idle_limit));
  }
}

Task<Result<std::size_t>> HttpInput::read_body(std::span<char> into, std::chrono::milliseconds idle_limit) {
  constexpr std::string_view kCutShort = "the connection ended before the body did";
  if (body_done_) co_return std::size_t{0};
  if (body_is_over()) co_return expired();
  if (framing_.kind != BodyFraming::Kind::chunked) {
    const bool counted = framing_.kind == BodyFraming::Kind::length;
    auto got = co_await read_payload(into, counted ? left_ : UINT64_MAX, idle_limit);
    if (!got) co_return got;
    if (counted && *got == 0) co_return fail(Errc::invalid_request, std::string{kCutShort});
    left_ -= counted ? *got : 0;
    body_done_ = counted ? left_ == 0 : *got == 0;
    co_return got;
  }

  for (;;) {
    take_framing();
    if (broken_) co_return std::unexpected{*broken_};
    if (chunks_->done()) {
      body_done_ = true;
      co_return std::size_t{0};
    }
    if (const std::uint64_t left = chunks_->payload_left(); left > 0) {
      // A small rest of a chunk is read together with the framing after it, in one call.
      if (buffer_.empty() && left < into.size()) {
        SKIFF_CO_TRY(auto filled, co_await fill(Of::body, kBodyBuffer, idle_limit));
        if (!filled) co_return fail(Errc::invalid_request, std::string{kCutShort});
      }
      auto got = co_await read_payload(into, left, idle_limit);
      if (!got) co_return got;
      if (*got == 0) co_return fail(Errc::invalid_request, std::string{kCutShort});
      chunks_->take_payload(*got);
      co_return got;
    }
    SKIFF_CO_TRY(auto filled, co_await fill(Of::body, kBodyBuffer, idle_limit));
    if (!filled) co_return fail(Errc::invalid_request, std::string{kCutShort});
  }
}

Task<Result<std::string>> HttpInput::read_whole_body(std::size_t limit, std::chrono::milliseconds idle_limit,
                                                     ReceiveBudget* budget, const std::string* who) {
  const auto too_large = [limit] {
    return fail(Errc::payload_too_large, "the body is larger than " + std::to_string(limit) + " bytes");
  };
  if (body_left() > limit) co_return too_large();
  ReceiveBudget::Share share{budget, {.who = who, .patience = idle_limit}, [this] { give_up_body(); }};
  std::string body;
  std::size_t size = 0;
  while (!body_done_) {
    // A promised length is not allocated at once. One more byte than the limit detects an excess.
    std::size_t step = std::max<std::size_t>(size, kFirstBuffer);
    if (framing_.kind == BodyFraming::Kind::length)
      step = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kBodyRead));
    const std::size_t room = size + std::min(step - 1, limit - size) + 1;
    if (!share.hold(room)) co_return fail(Errc::resource_exhausted, std::string{kNoReceiveRoom});
    body.resize(room);
    auto got = co_await read_body(std::span{body}.subspan(size), idle_limit);
    if (!got && share.is_lost()) co_return fail(Errc::resource_exhausted, std::string{kNoReceiveRoom});
    if (!got) co_return std::unexpected{std::move(got.error())};
    size += *got;
    if (size > limit) co_return too_large();
  }
  body.resize(size);
  co_return body;
}

}  // namespace skiff::protocol
