#include "runtime/api/pool_stream.hpp"

#include <new>
#include <utility>

#include "base/beside.hpp"
#include "base/handover.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kProducedOnTheWay = std::size_t{1} << 20U;

struct Work {
  Work(Executor executor, Producer what) : door{executor, kProducedOnTheWay}, producer{std::move(what)} {}
  ToReactor door;
  Producer producer;
  std::stop_source stop;
  Result<> outcome;
};

Task<> produce(BlockingPool* pool, Work* work) {
  auto job = [work] {
    try {
      work->outcome = work->producer([work](std::string_view bytes) { return work->door.push(std::string{bytes}); },
                                     work->stop.get_token());
    } catch (const std::bad_alloc&) {
      work->outcome = fail(Errc::resource_exhausted, "there is not enough memory for this");
    }
    work->door.finish();
    return true;
  };
  (void)co_await pool->run(std::move(job));
}

/// However the sending ends, the thread must not wait for room.
class Leaving {
 public:
  explicit Leaving(Work& work) : work_{work} {}
  ~Leaving() {
    work_.stop.request_stop();
    work_.door.leave();
  }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

 private:
  Work& work_;
};

Task<Result<>> send(Call* call, Work* work, std::string content_type) {
  const Leaving leaving{*work};
  auto block = co_await work->door.pop();
  // The outcome is written before the end is told.
  if (!block && !work->outcome) co_return std::unexpected{std::move(work->outcome.error())};
  protocol::HttpResponse head{200, {{"Content-Type", content_type}, {"Cache-Control", "no-store"}}};
  auto begun = co_await call->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  if (!begun) co_return begun;
  while (block) {
    if (auto sent = co_await call->http.write(*block); !sent) co_return sent;
    block = co_await work->door.pop();
  }
  if (!work->outcome) co_return std::unexpected{std::move(work->outcome.error())};
  co_return co_await call->http.finish();
}

}  // namespace

Task<Result<>> stream_from_pool(Call& call, std::string content_type, Producer producer) {
  Work work{call.agent.executor, std::move(producer)};
  co_return co_await run_beside(produce(&call.agent.search, &work), send(&call, &work, std::move(content_type)));
}

}  // namespace skiff::runtime::api
