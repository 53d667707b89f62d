#include "container/serve/api/network_log.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/shares.hpp"
#include "container/egress/audit.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/api/reader_right.hpp"
#include "container/serve/fleet/line_backlog.hpp"
#include "container/serve/service.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/sse.hpp"

namespace skiff::container::serve::own {
namespace {

using protocol::HttpResponse;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kProbeFollower{15};
constexpr std::chrono::seconds kQuiet{15};
/// How often the reader's key is looked at.
constexpr std::chrono::seconds kTick{1};
/// Bytes of lines that a client has not taken yet.
constexpr std::size_t kMostWaiting = std::size_t{128} << 10U;

std::string missing_line() {
  std::string line = egress::audit_line(
      {}, {.verdict = "missing", .detail = "older lines are left out: a reader is sent the newest 128 KiB"});
  line.pop_back();
  return line;
}

/// One client that reads the log.
class FollowedLog {
 public:
  FollowedLog(Executor executor, Call* call)
      : call_{call}, right_{call}, news_{executor}, tick_{executor, [this] { news_.notify_all(); }} {}

  /// Both run beside `run`.
  static Task<> watch(FollowedLog* self) {
    self->has_left_ = co_await self->call_->http.peer_closed();
    self->news_.notify_all();
  }
  static Task<> follow(FollowedLog* self) {
    Call& call = *self->call_;
    self->result_ = co_await call.service.fleet().follow_egress_log(call.key.tenant, call.id(),
                                                                    [self](std::string_view lines) -> Result<> {
                                                                      self->waiting_.add(lines);
                                                                      self->news_.notify_all();
                                                                      return {};
                                                                    });
    self->news_.notify_all();
  }

  static Task<Result<>> run(FollowedLog* self) {
    protocol::HttpExchange& http = self->call_->http;
    http.probe_peer(kProbeFollower);
    SKIFF_CO_TRY_VOID(co_await http.start(
        {.headers = {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}}));
    while (!self->has_left_) {
      if (auto end = co_await self->right_.find_end()) co_return co_await self->say_end(std::move(*end));
      // Looked at first: its last lines are sent before its end.
      const bool is_over = self->result_.has_value();
      SKIFF_CO_TRY(const bool is_sent, co_await self->send());
      if (is_sent) continue;
      if (is_over && !*self->result_) co_return co_await self->say_end(self->result_->error());
      if (is_over) co_return co_await http.finish();
      self->tick_.expires_after(kTick);
      co_await self->news_.wait();
    }
    co_return fail(Errc::cancelled, "the client has left");
  }

 private:
  Task<Result<bool>> send() {
    std::string text;
    for (const std::string& line : waiting_.take()) protocol::append_sse(text, {}, "line", line);
    const SteadyTime now = steady_clock::now();
    if (text.empty() && now - wrote_at_ < kQuiet) co_return false;
    if (text.empty()) text = protocol::kSseKeepalive;
    wrote_at_ = now;
    SKIFF_CO_TRY_VOID(co_await call_->http.write(text));
    co_return true;
  }

  Task<Result<>> say_end(Error error) {
    std::string text;
    protocol::append_sse(text, {}, "error", protocol::problem_json(for_tenants(error), {}));
    SKIFF_CO_TRY_VOID(co_await call_->http.write(text));
    co_return co_await call_->http.finish();
  }

  Call* call_;
  ReaderRight right_;
  LineBacklog waiting_{kMostWaiting, missing_line()};
  std::optional<Result<>> result_;  ///< of the log, once it has ended
  bool has_left_ = false;
  SteadyTime wrote_at_ = steady_clock::now();
  Event news_;
  Deadline tick_;
};

}  // namespace

Task<Result<HttpResponse>> stream_network_log(Call* call) {
  // A sandbox without one is refused before the answer begins.
  SKIFF_CO_TRY_VOID(co_await call->service.fleet().set_egress(call->key.tenant, call->id(), {}));
  Shares& streams = call->service.network_logs();
  if (!streams.leaves_room(call->key.tenant)) {
    co_return fail(Errc::resource_exhausted,
                   "your tenant reads as many network logs at the same time as this server allows: close one of them");
  }
  const Shares::Part place{streams, call->key.tenant};
  FollowedLog stream{co_await boost::asio::this_coro::executor, call};
  SKIFF_CO_TRY_VOID(co_await run_beside(FollowedLog::watch(&stream),
                                        run_beside(FollowedLog::follow(&stream), FollowedLog::run(&stream))));
  co_return HttpResponse{};  // has been sent
}

}  // namespace skiff::container::serve::own
