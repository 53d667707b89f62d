#include "runtime/reader/log_watch.hpp"

#include <memory>
#include <optional>

#include <boost/asio/post.hpp>

#include "base/async/beside.hpp"
#include "base/async/event.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/output_test.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using sessions::Stream;
using test::write;

CO_TEST(LogWatch, EndsAtTheExit) {
  test::Logs logs{executor};
  const auto log = logs.make();
  LogWatch watch{executor, log, {.keepalive = 1h}};
  boost::asio::post(executor, [log, executor] {
    write(*log, Stream::out, "output is not the exit");
    boost::asio::post(executor, [log] { log->exit({}); });
  });
  EXPECT_EQ(co_await watch.until_exit(), Wake::output);
  EXPECT_TRUE(log->exit_status());
}

CO_TEST(LogWatch, AsksForKeepalivesRepeatedly) {
  test::Logs logs{executor};
  LogWatch watch{executor, logs.make(), {.keepalive = 1ms}};
  EXPECT_EQ(co_await watch.until_exit(), Wake::keepalive);
  EXPECT_EQ(co_await watch.until_exit(), Wake::keepalive);
}

CO_TEST(LogWatch, IsOverdueAtItsTimeLimit) {
  test::Logs logs{executor};
  LogWatch watch{executor, logs.make(), {.keepalive = 1h, .until = SteadyTime::clock::now() + 1ms}};
  EXPECT_EQ(co_await watch.until_exit(), Wake::overdue);
  EXPECT_EQ(co_await watch.until_exit(), Wake::overdue);
}

CO_TEST(LogWatch, EndsWithTheToken) {
  test::Logs logs{executor};
  LogWatch watch{executor, logs.make(), {.token_end = wall_now()}};
  EXPECT_EQ(co_await watch.until_exit(), Wake::expired);
  EXPECT_TRUE(watch.expired());
}

CO_TEST(LogWatch, LetsOutputGatherUntilTheExit) {
  test::Logs logs{executor};
  const auto log = logs.make();
  LogWatch watch{executor, log, {}};
  co_await watch.gather(1ms);
  boost::asio::post(executor, [log] { log->exit({}); });
  co_await watch.gather(1h);
  EXPECT_TRUE(log->exit_status());
}

/// A request that waits for an exit.
struct WaitingRequest {
  explicit WaitingRequest(Executor executor)
      : logs{executor}, watch{executor, logs.make(), {.keepalive = 1h}}, changed{executor} {}

  test::Logs logs;
  LogWatch watch;
  Event changed;
  bool has_begun = false;
  std::optional<Wake> wake = {};
};

Task<> wait_beside_peer(protocol::HttpExchange* http, std::shared_ptr<WaitingRequest> request) {
  request->has_begun = true;
  request->changed.notify_all();
  request->wake = co_await run_beside(request->watch.watch_peer(*http), request->watch.until_exit());
  request->changed.notify_all();
}

CO_TEST(LogWatch, EndsWhenTheClientGoes) {
  const auto request = std::make_shared<WaitingRequest>(executor);
  test::TestServer server{executor,
                          [request](protocol::HttpExchange& http) { return wait_beside_peer(&http, request); }};
  test::RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  while (!request->has_begun) co_await request->changed.wait();
  client.stream().close();
  while (!request->wake) co_await request->changed.wait();
  EXPECT_EQ(*request->wake, Wake::client_gone);
  EXPECT_TRUE(request->watch.client_gone());
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::runtime
