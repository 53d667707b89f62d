#include "runtime/dialects/e2b/rpc.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/async/with_timeout.hpp"
#include "protocol/service/body.hpp"
#include "runtime/dialects/e2b/connect_error.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kUnaryType = "application/json";
constexpr std::string_view kStreamType = "application/connect+json";
constexpr milliseconds kUsualTime{60'000};
/// A stream ends this much before its time, or a fiftieth of its time if that is less. Older clients give up by their
/// own clock at the same moment, with another error.
constexpr milliseconds kAhead{20};
constexpr std::size_t kPiece = std::size_t{64} << 10U;

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

bool has_type(const protocol::Headers& headers, std::string_view wanted) {
  return protocol::same_text(protocol::service::media_type(headers.get("Content-Type")), wanted);
}

/// Checks the header fields of a call. Errors: invalid_field, not_supported.
Result<> check_head(const protocol::Headers& headers, std::string_view coding) {
  const auto version = headers.find("Connect-Protocol-Version");
  if (version && *version != "1") return fail(Errc::invalid_field, "Connect-Protocol-Version: 1 is spoken here");
  const auto encoding = headers.find(coding);
  if (encoding && !encoding->empty() && !protocol::same_text(*encoding, "identity")) {
    return fail(Errc::not_supported, std::string{coding} + ": messages are taken as they are, identity");
  }
  return {};
}

/// Answers 415 before the call begins: the Content-Type is not `type`.
Task<Result<>> refuse_type(Call* call, std::string_view type) {
  call->request.http.extra_headers().set("Accept-Post", type);
  co_return co_await call->request.http.respond({.status = 415});
}

Task<Result<>> answer_unary(Call* call, Result<std::string> outcome) {
  protocol::HttpResponse response{200, {{"Content-Type", kUnaryType}}, {}};
  if (outcome) {
    response.body = std::move(*outcome);
  } else {
    response.status = connect_code(outcome.error().code).status;
    response.body = connect_error(outcome.error());
  }
  co_return co_await call->request.http.respond(std::move(response));
}

}  // namespace

void append_envelope(std::string& out, Envelope kind, std::string_view message) {
  out += static_cast<char>(kind);
  out += std::string_view{protocol::grpc_prefix(message.size())}.substr(1);
  out += message;
}

Result<std::optional<milliseconds>> asked_time(const protocol::Headers& headers) {
  const auto text = headers.find("Connect-Timeout-Ms");
  if (!text) return std::nullopt;
  const auto number = text->size() <= 10 ? decimal(*text) : std::nullopt;
  if (!number) return fail(Errc::invalid_field, "Connect-Timeout-Ms: expected at most ten digits");
  if (*number == 0) return std::nullopt;
  return milliseconds{*number};
}

milliseconds keepalive_interval(const protocol::Headers& headers, milliseconds otherwise) noexcept {
  const auto seconds = decimal(headers.get("Keepalive-Ping-Interval"));
  if (!seconds || *seconds < 1 || *seconds > 3600) return otherwise;
  return std::chrono::seconds{*seconds};
}

Task<Result<>> serve_unary(Call* call, UnaryHandler handler) {
  auto& http = call->request.http;
  const auto& headers = http.request().headers;
  if (!has_type(headers, kUnaryType)) co_return co_await refuse_type(call, kUnaryType);
  auto time = asked_time(headers);
  Result<> checked = check_head(headers, "Content-Encoding");
  if (checked && !time) checked = std::unexpected{time.error()};
  if (!checked) co_return co_await answer_unary(call, std::unexpected{checked.error()});
  auto message = co_await http.read_body(call->agent().settings.max_json_bytes);
  if (!message) co_return co_await answer_unary(call, std::unexpected{message.error()});
  auto outcome =
      co_await within(SteadyTime::clock::now() + time->value_or(kUsualTime), handler(call, std::move(*message)));
  if (!outcome) outcome = fail(Errc::timeout, "the call's time is over");
  co_return co_await answer_unary(call, std::move(*outcome));
}

StreamCall::StreamCall(Call& of, std::optional<milliseconds> time)
    : call{of},
      until{time ? std::optional{SteadyTime::clock::now() + *time - std::min(kAhead, *time / 50)} : std::nullopt},
      time_{time},
      messages_{static_cast<std::size_t>(of.agent().settings.max_json_bytes)},
      share_{of.request.http.share()} {}

Task<Result<std::string>> StreamCall::read_only_message() {
  SKIFF_CO_TRY(auto first, co_await next_message(nullptr));
  if (!first) co_return fail(Errc::invalid_request, "the call has no message");
  SKIFF_CO_TRY(auto second, co_await next_message(nullptr));
  if (second) co_return fail(Errc::invalid_request, "the call has more than one message");
  co_return std::move(*first);
}

Task<Result<std::optional<std::string>>> StreamCall::next_message(const std::function<bool()>* still_wanted) {
  for (;;) {
    auto message = messages_.next();
    if (!message && message.error().code == Errc::not_supported) {
      message.error().message = "an envelope has flags: messages are taken as they are, identity";
    }
    if (!message || *message) co_return message;
    if (!share_->hold(messages_.held() + kPiece)) {
      co_return fail(Errc::resource_exhausted, std::string{protocol::kNoReceiveRoom});
    }
    // The buffer is allocated when bytes have come, not while the stream is idle.
    auto ready = co_await call.request.http.body_readable();
    std::string piece(ready ? kPiece : 1, '\0');
    Result<std::size_t> got = std::unexpected{ready ? Error{} : ready.error()};
    if (ready) got = co_await call.request.http.read_body_some(piece);
    if (share_->is_lost()) co_return fail(Errc::resource_exhausted, std::string{protocol::kNoReceiveRoom});
    if (!got) {
      // A stream of input may pause as long as its process lives.
      const bool goes_on = got.error().code == Errc::request_timeout && still_wanted != nullptr;
      if (!goes_on) co_return std::unexpected{std::move(got.error())};
      if (!(*still_wanted)()) co_return fail(Errc::command_ended, "the process has ended");
      if (until && SteadyTime::clock::now() >= *until) co_return fail(Errc::timeout, "the call's time is over");
      continue;
    }
    if (*got == 0) {
      if (messages_.held() == 0) co_return std::nullopt;
      co_return fail(Errc::invalid_request, "the last envelope is not whole");
    }
    piece.resize(*got);
    messages_.feed(std::move(piece));
  }
}

Task<Result<>> StreamCall::send(std::string_view envelopes) {
  auto& http = call.request.http;
  if (!std::exchange(begun_, true)) {
    protocol::HttpResponse head{200, {{"Content-Type", kStreamType}, {"Cache-Control", "no-store"}}, {}};
    auto begun = co_await http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
    broken_ = !begun;
    if (broken_) co_return begun;
  }
  auto sent = co_await http.write(envelopes);
  broken_ = !sent;
  co_return sent;
}

Task<Result<>> StreamCall::end(Result<> outcome) {
  if (broken_) co_return fail(Errc::cancelled, "the client is gone");
  std::string last = std::move(with_end_);
  append_envelope(last, Envelope::end, outcome ? "{}" : R"({"error":)" + connect_error(outcome.error()) + '}');
  SKIFF_CO_TRY_VOID(co_await send(last));
  co_return co_await call.request.http.finish();
}

Task<Result<>> serve_stream(Call* call, StreamHandler handler) {
  const auto& headers = call->request.http.request().headers;
  if (!has_type(headers, kStreamType)) co_return co_await refuse_type(call, kStreamType);
  const auto time = asked_time(headers);
  StreamCall stream{*call, time ? *time : std::nullopt};
  Result<> outcome = check_head(headers, "Connect-Content-Encoding");
  if (outcome && !time) outcome = std::unexpected{time.error()};
  if (outcome) outcome = co_await handler(&stream);
  co_return co_await stream.end(std::move(outcome));
}

}  // namespace skiff::runtime::dialects::e2b
