#include "container/kube/watch.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

// How a watch of the real API server goes is tested in tests/kubernetes; here how one breaks.
namespace skiff::kube {
namespace {

using test::answer;
using test::CannedServer;
using test::chunk;
using test::kStreamHead;

std::string event(std::string_view type, std::string_view name, std::string_view version) {
  return R"({"type":")" + std::string{type} + R"(","object":{"metadata":{"name":")" + std::string{name} +
         R"(","resourceVersion":")" + std::string{version} + R"("}}})" + "\n";
}

std::string list(std::string_view name, std::string_view version) {
  return answer("200 OK", R"({"metadata":{"resourceVersion":")" + std::string{version} +
                              R"("},"items":[{"metadata":{"name":")" + std::string{name} + R"("}}]})");
}

std::string stream(std::initializer_list<std::string> pieces, bool clean_end = true) {
  std::string text{kStreamHead};
  for (const std::string& piece : pieces) text += chunk(piece);
  if (clean_end) text += "0\r\n\r\n";
  return text;
}

struct Watching {
  Watching(Executor executor, const CannedServer& server, std::string version)
      : client{Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick())
                   .value()},
        watch{&client, {.namespace_name = "n", .resource_version = std::move(version)}} {}
  Client client;
  Watch watch;
};

/// "added a", "snapshot b c", or what failed.
Task<std::string> next(Watch* watch) {
  auto event = co_await watch->next();
  if (!event) co_return "failed: " + event.error().error.message;
  static constexpr const char* kNames[] = {"snapshot", "added", "modified", "deleted"};
  std::string text = kNames[static_cast<int>(event->kind)];
  for (const Object& object : event->objects) text += " " + object.name();
  co_return text;
}

CO_TEST(Watch, BeginsWithASnapshotAndGoesOnFromItsVersion) {
  CannedServer server{executor, {{list("a", "5")}, {stream({event("MODIFIED", "a", "6")}, false)}}};
  Watching watching{executor, server, ""};
  EXPECT_EQ(co_await next(&watching.watch), "snapshot a");
  EXPECT_EQ(co_await next(&watching.watch), "modified a");
  EXPECT_NE(server.requests().at(1).find("watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds="),
            std::string::npos);
  co_await server.stop();
}

CO_TEST(Watch, GoesOnWhereItWasWhenAConnectionEnds) {
  const std::string half = event("ADDED", "c", "9").substr(0, 20);
  CannedServer server{executor,
                      {{stream({event("ADDED", "a", "6") + event("DELETED", "a", "7")})},  // a clean end
                       {stream({event("BOOKMARK", "", "8"), half}, false), true},          // cut within a line
                       {stream({event("ADDED", "c", "9").substr(0, 30), event("ADDED", "c", "9").substr(30)})}}};
  Watching watching{executor, server, "5"};
  EXPECT_EQ(co_await next(&watching.watch), "added a");
  EXPECT_EQ(co_await next(&watching.watch), "deleted a");
  EXPECT_EQ(co_await next(&watching.watch), "added c");
  EXPECT_NE(server.requests().at(1).find("resourceVersion=7"), std::string::npos);
  EXPECT_NE(server.requests().at(2).find("resourceVersion=8"), std::string::npos) << "the bookmark's";
  EXPECT_EQ(watching.watch.resource_version(), "9");
  EXPECT_EQ(watching.watch.connections(), 3u);
  co_await server.stop();
}

CO_TEST(Watch, TakesANewSnapshotWhenItsVersionHasExpired) {
  const std::string gone =
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}})"
      "\n";
  CannedServer server{executor,
                      {{stream({gone})},
                       {list("b", "20")},
                       {answer("410 Gone", R"({"kind":"Status","reason":"Expired","code":410})")},
                       {list("c", "30")},
                       {stream({event("ADDED", "d", "31")}, false)}}};
  Watching watching{executor, server, "5"};
  EXPECT_EQ(co_await next(&watching.watch), "snapshot b");
  EXPECT_EQ(co_await next(&watching.watch), "snapshot c");
  EXPECT_EQ(co_await next(&watching.watch), "added d");
  co_await server.stop();
}

CO_TEST(Watch, FailsWithWhatWaitingDoesNotMend) {
  CannedServer server{executor,
                      {{answer("403 Forbidden", R"({"kind":"Status","reason":"Forbidden","code":403,"message":"no"})")},
                       {stream({event("ADDED", "a", "6")}, false)}}};
  Watching watching{executor, server, "5"};
  EXPECT_EQ(co_await next(&watching.watch), "failed: watch pods: no (Forbidden, 403)");
  EXPECT_EQ(co_await next(&watching.watch), "added a") << "it may be asked again";
  co_await server.stop();
}

CO_TEST(Watch, GoesOnAfterTroubleOfTheServersOwn) {
  const std::string trouble =
      R"({"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError","message":"x"}})"
      "\n";
  CannedServer server{executor,
                      {{stream({trouble})}, {answer("503 Busy", "")}, {stream({event("ADDED", "a", "6")}, false)}}};
  Watching watching{executor, server, "5"};
  EXPECT_EQ(co_await next(&watching.watch), "added a");
  EXPECT_NE(server.requests().at(2).find("resourceVersion=5"), std::string::npos);
  co_await server.stop();
}

CO_TEST(Watch, SaysThatAnEventIsNonsense) {
  CannedServer server{executor,
                      {{stream({"nonsense\n"}, false)},
                       {stream({R"({"type":"ADDED"})"
                                "\n"},
                               false)}}};
  Watching watching{executor, server, "5"};
  EXPECT_EQ(co_await next(&watching.watch), "failed: watch pods: the API server sent a line that is not an event");
  EXPECT_EQ(co_await next(&watching.watch), "failed: watch pods: the API server sent an event without an object");
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
