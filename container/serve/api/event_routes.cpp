#include "container/serve/api/event_routes.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "container/serve/answer.hpp"
#include "container/serve/api/bodies.hpp"
#include "container/serve/fleet/followers.hpp"
#include "container/serve/query.hpp"
#include "container/serve/service.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/sse.hpp"
#include "protocol/json/text.hpp"

namespace skiff::container::serve::own {
namespace {

using protocol::HttpResponse;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kUsualWaitMs = 30'000;
/// Longest time of a bring-up.
constexpr std::chrono::minutes kLongestStream{10};
constexpr std::chrono::seconds kProbeIdle{15};

Task<Result<>> nothing() {
  co_return Result<>{};
}

/// Ends a wait when the key ends.
Task<Result<>> while_allowed(Call* call, Task<Result<>> work) {
  if (!co_await call->service.keys().holds(call->key)) {
    co_return fail(Errc::unauthenticated, "the API key is not valid any more");
  }
  co_return co_await std::move(work);
}

BringUps::Which which_of(const Call& call) {
  return {call.key.tenant, call.id()};
}

/// Writes steps as events, and a comment after a time without steps.
class ProgressEvents {
 public:
  explicit ProgressEvents(protocol::HttpExchange* http) : http_{http} {}

  Task<Result<>> begin() {
    HttpResponse head{.headers = {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}};
    return http_->start(std::move(head));
  }

  static Task<Result<>> tell(ProgressEvents* self, std::span<const BringUps::Step> steps) {
    std::string text;
    for (const auto& [phase, detail] : steps) {
      std::string data{'{'};
      protocol::append_json_text(data, "phase", phase_word(phase));
      protocol::append_json_text(data, "detail", detail);
      protocol::append_sse(text, {}, "phase", data + "}");
    }
    const auto now = steady_clock::now();
    if (text.empty() && now - self->wrote_at_ < kSilence) co_return Result<>{};
    if (text.empty()) text = protocol::kSseKeepalive;
    self->wrote_at_ = now;
    co_return co_await self->http_->write(text);
  }

  static Task<Result<>> end(ProgressEvents* self, Result<Sandbox> sandbox) {
    std::string text;
    if (sandbox && sandbox->state == SandboxState::running) {
      protocol::append_sse(text, {}, "ready", protocol::to_json(view_of(*sandbox)));
    } else {
      if (sandbox && sandbox->state == SandboxState::creating) {
        sandbox = fail(Errc::timeout, "the sandbox is still being created");
      } else if (sandbox) {
        sandbox = std::unexpected{not_running(*sandbox)};
      }
      protocol::append_sse(text, {}, "failed", protocol::problem_json(for_tenants(sandbox.error()), {}));
    }
    SKIFF_CO_TRY_VOID(co_await self->http_->write(text));
    co_return co_await self->http_->finish();
  }

 private:
  static constexpr std::chrono::seconds kSilence{15};

  protocol::HttpExchange* http_;
  SteadyTime wrote_at_ = steady_clock::now();
};

}  // namespace

Task<Result<HttpResponse>> show(Call* call) {
  const protocol::Target& target = call->http.request().target;
  const auto wait = target.parameter("wait");
  if (wait && *wait != "ready") co_return fail(Errc::invalid_field, "expected ready", "wait");
  SKIFF_CO_TRY(auto timeout_ms, number_of(target, "timeout_ms", 0, kLongestWaitMs));
  Result<Sandbox> sandbox = std::unexpected{Error{}};
  if (wait) {
    const auto until = steady_clock::now() + milliseconds{timeout_ms.value_or(kUsualWaitMs)};
    Tell nobody = [call](std::span<const BringUps::Step>) { return while_allowed(call, nothing()); };
    sandbox =
        co_await call->service.followers().follow(which_of(*call), until, call->http.peer_closed(), std::move(nobody));
  } else {
    sandbox = co_await call->service.fleet().get(call->key.tenant, call->id());
  }
  if (!sandbox) co_return std::unexpected{std::move(sandbox.error())};
  co_return json_answer(200, protocol::to_json(view_of(*sandbox)));
}

Task<Result<HttpResponse>> stream_events(Call* call) {
  const BringUps& bring_ups = call->service.bring_ups();
  auto there = co_await call->service.fleet().get(call->key.tenant, call->id());
  if (!there && !bring_ups.find(which_of(*call)) && !bring_ups.failure(which_of(*call))) {
    co_return std::unexpected{std::move(there.error())};
  }
  ProgressEvents stream{&call->http};
  call->http.probe_peer(kProbeIdle);
  SKIFF_CO_TRY_VOID(co_await stream.begin());
  Tell tell = [&stream, call](std::span<const BringUps::Step> steps) {
    return while_allowed(call, ProgressEvents::tell(&stream, steps));
  };
  auto sandbox = co_await call->service.followers().follow(which_of(*call), steady_clock::now() + kLongestStream,
                                                           call->http.peer_closed(), std::move(tell));
  if (!sandbox && sandbox.error().code == Errc::cancelled) co_return std::unexpected{std::move(sandbox.error())};
  SKIFF_CO_TRY_VOID(co_await ProgressEvents::end(&stream, std::move(sandbox)));
  co_return HttpResponse{};  // has been sent
}

}  // namespace skiff::container::serve::own
