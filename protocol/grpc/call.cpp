#include "protocol/grpc/call.hpp"

#include <utility>
#include <vector>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {
namespace {

Headers grpc_head() {
  return {{"content-type", "application/grpc"}, {"grpc-accept-encoding", "identity"}};
}

/// The events that end a method; the first one counts.
struct Race {
  explicit Race(Executor executor) : changed{executor} {}
  void end() {
    is_over = true;
    changed.notify_all();
  }
  Event changed;
  bool is_over = false;
  std::optional<GrpcStatus> status;
};

Task<> run_to_end(Task<GrpcStatus> method, Race* race) {
  // This also runs when the method throws.
  struct Tell {
    ~Tell() { race->end(); }
    Race* race;
  };
  const Tell tell{race};
  race->status = co_await std::move(method);
}

Task<> watch_client(Http2Exchange* http, Race* race) {
  co_await http->closed();
  race->end();
}

Task<> until_over(Race* race) {
  while (!race->is_over) co_await race->changed.wait();
}

}  // namespace

Result<> GrpcCall::keep(std::size_t bytes) {
  if (bytes <= kept_ && !share_->is_lost()) return {};
  if (!share_->hold(bytes)) return fail(Errc::resource_exhausted, std::string{kNoReceiveRoom});
  kept_ = bytes;
  return {};
}

Task<Result<std::optional<std::string>>> GrpcCall::read() {
  return next(std::chrono::hours{24 * 365});
}

Task<Result<std::optional<std::string>>> GrpcCall::next(std::chrono::milliseconds patience) {
  for (;;) {
    auto message = messages_.next();
    if (!message || *message) co_return message;
    SKIFF_CO_TRY(auto bytes, co_await http_.read(messages_.held() == 0 ? patience : patience_));
    if (bytes.empty()) {
      if (messages_.held() == 0) co_return std::nullopt;
      co_return fail(Errc::invalid_request, "the request ends within a message");
    }
    SKIFF_CO_TRY_VOID(keep(messages_.held() + bytes.size()));
    messages_.feed(std::move(bytes));
  }
}

Task<Result<std::string>> GrpcCall::read_one() {
  SKIFF_CO_TRY(auto message, co_await next(patience_));
  if (!message) co_return fail(Errc::missing_field, "the request holds no message");
  co_return std::move(*message);
}

Task<Result<>> GrpcCall::send(std::span<const std::string_view> parts) {
  const std::string prefix = grpc_prefix(total_size(parts));
  std::vector<std::string_view> framed{prefix};
  framed.insert(framed.end(), parts.begin(), parts.end());
  co_return co_await send_framed(framed);
}

Task<Result<>> GrpcCall::send(std::string_view message) {
  const std::string framed = grpc_prefix(message.size()) + std::string{message};
  const std::string_view part{framed};
  co_return co_await send_framed({&part, 1});
}

Task<Result<>> GrpcCall::send_framed(std::span<const std::string_view> parts) {
  if (!std::exchange(begun_, true)) {
    SKIFF_CO_TRY_VOID(http_.start(grpc_head()));
  }
  in_message_ = true;
  auto sent = co_await http_.write(parts);
  in_message_ = !sent;
  co_return sent;
}

void GrpcCall::finish(const GrpcStatus& status) {
  if (in_message_) {
    http_.reset(Http2Code::cancel);
  } else if (begun_) {
    http_.finish(grpc_trailers(status));
  } else {
    Headers head = grpc_head();
    head.append(grpc_trailers(status));
    http_.respond(head);
  }
}

Task<GrpcOutcome> run_method(GrpcCall* call, Task<GrpcStatus> method, std::optional<std::chrono::milliseconds> timeout,
                             bool* over_time) {
  Race race{call->http().executor()};
  Deadline deadline{call->http().executor(), [&race, over_time] {
                      *over_time = true;
                      race.end();
                    }};
  if (timeout) deadline.expires_after(*timeout);
  co_await run_beside(run_to_end(std::move(method), &race),
                      run_beside(watch_client(&call->http(), &race), until_over(&race)));
  if (race.status) co_return GrpcOutcome{.status = std::move(*race.status)};
  if (*over_time) co_return GrpcOutcome{.status = {GrpcCode::deadline_exceeded, "the call's time is over"}};
  if (call->http().is_closed()) {
    co_return GrpcOutcome{.status = {GrpcCode::cancelled, "the client has cancelled the call"}, .is_given_up = true};
  }
  co_return GrpcOutcome{.status = {GrpcCode::internal, "the method failed"}};
}

}  // namespace skiff::protocol
