#include "runtime/api/files/pool_stream.hpp"

#include <new>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/channel.hpp"
#include "base/async/deadline.hpp"
#include "base/log/log.hpp"
#include "protocol/http/accepted_types.hpp"
#include "protocol/http/message.hpp"
#include "runtime/api/long_work.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kProducedOnTheWay = std::size_t{1} << 20U;

struct Work {
  Work(Call& call, Producer what)
      : http{call.http},
        endpoint{call.agent.executor, kProducedOnTheWay, &call.agent.pools.search},
        producer{std::move(what)},
        too_slow{call.agent.executor, [this] { http.cancel(); }},
        silent{call.agent.executor, [this] { leave(); }} {}

  /// Stops the thread, and its wait for room.
  void leave() {
    stop.request_stop();
    endpoint.leave();
  }

  protocol::HttpExchange& http;
  ToReactor endpoint;
  Producer producer;
  std::stop_source stop;
  Result<> outcome;
  Deadline too_slow;
  Deadline silent;
  bool shut = false;  ///< the client has shut its sending half
  bool writing = false;
};

Task<> produce(BlockingPool* pool, Work* work) {
  auto job = [pool, work] {
    try {
      work->outcome = admit_transfer(*pool, 0);
      if (work->outcome) {
        work->outcome = work->producer(
            [work](std::string_view bytes) { return work->endpoint.push(std::string{bytes}); }, work->stop.get_token());
      }
    } catch (const std::bad_alloc&) {
      work->outcome = fail(Errc::resource_exhausted, "there is not enough memory for this");
    }
    work->endpoint.finish();
    return true;
  };
  (void)co_await pool->run(std::move(job));
}

/// Releases the thread, however the sending ends: it must not wait for room.
class Leaving {
 public:
  explicit Leaving(Work& work) : work_{work} {}
  ~Leaving() { work_.leave(); }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

 private:
  Work& work_;
};

Task<Result<>> write(Call* call, Work* work, std::string_view block) {
  using std::chrono::milliseconds;
  work->silent.clear();
  work->writing = true;
  work->too_slow.expires_after(call->agent.settings.write_timeout + milliseconds{block.size() * 1000 / kLeastRate});
  auto sent = co_await call->http.write(block);
  work->too_slow.clear();
  work->writing = false;
  if (work->too_slow.expired()) {
    log::info("ended a transfer: its client reads too slowly", {{"peer", call->http.peer()}});
    co_return fail(Errc::timeout, "the client reads too slowly");
  }
  if (work->shut) work->silent.expires_after(kShutPatience);
  co_return sent;
}

Task<Result<>> send(Call* call, Work* work, std::string content_type, const StreamEnd* end) {
  const Leaving leaving{*work};
  auto block = co_await work->endpoint.pop();
  // The thread sets the outcome before it signals the end.
  if (!block && !work->outcome) co_return std::unexpected{std::move(work->outcome.error())};
  protocol::HttpResponse head{200, {{"Content-Type", content_type}, {"Cache-Control", "no-store"}}};
  if (!end->names.empty()) head.headers.set("Trailer", end->names);
  auto begun = co_await call->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  if (!begun) co_return begun;
  while (block) {
    SKIFF_CO_TRY_VOID(co_await write(call, work, *block));
    block = co_await work->endpoint.pop();
  }
  if (!work->outcome) co_return std::unexpected{std::move(work->outcome.error())};
  co_return co_await call->http.finish(end->fields ? end->fields() : protocol::Headers{});
}

}  // namespace

std::string_view accepted_type(const Call& call, std::string_view usual, std::string_view other) {
  for (const std::string_view type : protocol::accepted_types(call.http.request().headers.get("Accept"))) {
    if (protocol::same_text(type, other)) return other;
    if (protocol::same_text(type, usual) || type.ends_with("/*")) break;
  }
  return usual;
}

Task<Result<>> stream_from_pool(Call& call, std::string content_type, Producer producer, StreamEnd end) {
  SKIFF_CO_TRY(const auto transfer, begin_transfer(call.agent, call.http.who()));
  Work work{call, std::move(producer)};
  // A client that has shut its sending half may have disconnected. A send would show that; while there is nothing to
  // send, a timer ends the wait.
  const auto shut = [&work] {
    work.shut = true;
    if (!work.writing) work.silent.expires_after(kShutPatience);
  };
  Task<Result<>> sending = send(&call, &work, std::move(content_type), &end);
  co_return co_await run_beside(produce(&call.agent.pools.search, &work),
                                run_beside(call.http.watch_peer(shut), std::move(sending)));
}

Result<Shares::Part> begin_transfer(Agent& agent, const std::string& who) {
  SKIFF_TRY_VOID(admit_transfer(agent.pools.search, 1));
  if (agent.quotas.transfers.leaves_room(who)) return Shares::Part{agent.quotas.transfers, who};
  return fail(Errc::resource_exhausted, "too many searches and archives of this client wait for it: try again later");
}

Result<> admit_transfer(BlockingPool& pool, std::size_t further) {
  if (!pool.crowded(further)) return {};
  return fail(Errc::resource_exhausted, "too many searches and archives wait for their clients: try again later");
}

}  // namespace skiff::runtime::api
