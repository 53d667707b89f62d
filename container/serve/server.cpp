#include "container/serve/server.hpp"

#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/task_group.hpp"
#include "base/log/log.hpp"
#include "container/serve/answer.hpp"
#include "protocol/http/server/server.hpp"

namespace skiff::container::serve {

Task<Result<>> serve_until(Task<> stopped, Service* service, std::vector<std::shared_ptr<protocol::Listener>> listeners,
                           ServerOptions options) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  protocol::ReceiveBudget received{options.received_bytes};
  protocol::HttpServer server{
      executor,
      {.limits = {.slots = options.slots},
       .name = "skiff",
       .takes_faulty_targets = true,
       .received = &received,
       .handler = [service, front = std::move(options.front)](
                      protocol::HttpExchange& http) { return front ? front(http) : service->answer(http); },
       .error_response =
           [](unsigned status, const Error& error) {
             auto answer = error_answer(Face::own, error, {});
             answer.status = status;
             return answer;
           }}};
  service->count_connections([&server] { return server.connections(); });
  for (auto& listener : listeners) server.listen(std::move(listener));
  TaskGroup beside{executor};
  if (options.keeps_clean) beside.spawn("sweep", service->keep_clean());
  beside.spawn("rights of keys", service->keep_to_keys());
  beside.spawn("rights of accounts", service->keep_to_accounts());
  beside.spawn("delay of the reactor", service->measure_reactor());
  std::exception_ptr failure;
  try {
    co_await std::move(stopped);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  log::info("draining", {{"requests", server.requests()}, {"connections", server.connections()}});
  service->drain();
  server.drain();
  const SteadyTime until = std::chrono::steady_clock::now() + options.drain_time;
  if (!failure) co_await server.drained(options.drain_time);
  if (!failure) co_await service->bring_ups().finish(until);
  co_await server.stop();
  beside.cancel();
  co_await beside.join();
  co_await service->stop();
  service->count_connections({});
  if (failure) std::rethrow_exception(failure);
  co_return Result<>{};
}

}  // namespace skiff::container::serve
