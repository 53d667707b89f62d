#include "container/kube/pod_log.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

// A real log needs a node with a container runtime: these are bytes as one sends them.
namespace skiff::kube {
namespace {

using test::answer;
using test::CannedServer;

CO_TEST(PodLog, IsReadAsFarAsItIsAskedFor) {
  CannedServer server{executor, {{answer("200 OK", "one\ntwo\n", "Content-Type: text/plain\r\n")}}};
  Client client{
      Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick()).value()};
  auto text = co_await read_log(&client, "n", "p", {.container = "c", .previous = true, .tail_lines = 5});
  CO_ASSERT_TRUE(text.has_value()) << text.error().error.message;
  EXPECT_EQ(*text, "one\ntwo\n");
  EXPECT_EQ(server.requests().at(0).find("GET /api/v1/namespaces/n/pods/p/log?container=c&previous=true&tailLines=5 "),
            0u);
  co_await server.stop();
}

CO_TEST(PodLog, OfAContainerThatHasNotStartedIsAFailureThatSaysSo) {
  CannedServer server{executor, {{answer("400 Bad Request", R"({"kind":"Status","reason":"BadRequest","code":400,
      "message":"container \"c\" in pod \"p\" is waiting to start: ContainerCreating"})")}}};
  Client client{
      Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick()).value()};
  auto log = co_await read_log(&client, "n", "p");
  CO_ASSERT_TRUE(!log.has_value());
  EXPECT_EQ(log.error().error.message.find("read the log of pod n/p: container \"c\" in pod \"p\" is waiting"), 0u);
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
