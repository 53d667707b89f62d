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

TEST(LogPlace, KnowsWhatComesAgain) {
  LogPlace place;
  EXPECT_EQ(place.take("2026-01-01T00:00:00.000000001Z one").value_or("-"), "one");
  EXPECT_EQ(place.take("2026-01-01T00:00:00.000000002Z two").value_or("-"), "two");
  EXPECT_EQ(place.take("2026-01-01T00:00:00.000000002Z two").value_or("-"), "two") << "another one with this time";
  place.begin_again();
  EXPECT_FALSE(place.take("2026-01-01T00:00:00.000000001Z one"));
  EXPECT_FALSE(place.take("2026-01-01T00:00:00.000000002Z two"));
  EXPECT_FALSE(place.take("2026-01-01T00:00:00.000000002Z two"));
  EXPECT_EQ(place.take("2026-01-01T00:00:00.000000002Z three").value_or("-"), "three");
  EXPECT_EQ(place.take("2026-01-01T00:00:00.000000003Z").value_or("-"), "");
  EXPECT_EQ(place.time(), "2026-01-01T00:00:00.000000003Z");
}

CO_TEST(PodLog, IsFollowedAndGoneOnWithWhereItsConnectionEnded) {
  CannedServer server{
      executor,
      {{answer("200 OK", "2026-01-01T00:00:00.1Z a\n2026-01-01T00:00:00.2Z b\n2026-01-01T00:00:00.3Z ha",
               "Content-Type: text/plain\r\n")},
       {answer("200 OK", "2026-01-01T00:00:00.2Z b\n2026-01-01T00:00:00.3Z half\n", "Content-Type: text/plain\r\n")}}};
  Client client{
      Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick()).value()};
  LogPlace place;
  std::string lines;
  for (int i = 0; i < 2; ++i) {
    auto done = co_await follow_log(&client, "n", "p", &place, [&](std::string_view line) {
      lines.append(line).append(1, '\n');
      return true;
    });
    CO_ASSERT_TRUE(done.has_value()) << done.error().error.message;
  }
  EXPECT_EQ(lines, "a\nb\nhalf\n");
  EXPECT_EQ(server.requests().at(0).find("GET /api/v1/namespaces/n/pods/p/log?follow=true&timestamps=true "), 0u);
  EXPECT_TRUE(server.requests().at(1).contains("sinceTime=2026-01-01T00")) << server.requests().at(1);
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
