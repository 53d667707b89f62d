#include "container/kube/shared_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <boost/system/system_error.hpp>

#include "base/async/in_parallel.hpp"
#include "base/async/task_group.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/fake_api_server.hpp"
#include "tests/support/reactor_test.hpp"

// tests/kubernetes has watches of a real API server, and of one that is killed.
namespace skiff::kube {
namespace {

using fakes::FakeApiServer;

/// A server with ConfigMaps, and one watch of them.
struct WatchedMaps {
  explicit WatchedMaps(Executor executor)
      : server{executor},
        client{Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick())
                   .value()},
        watch{&client, executor, {.resource = kConfigMaps, .namespace_name = "default"}} {}

  Task<> stop() { return server.stop(); }
  void put(const std::string& name, const std::string& value) {
    Object object = Object::make(kConfigMaps, "default", name);
    object.json["data"]["key"] = value;
    server.put(kConfigMaps, std::move(object));
  }
  void set(const std::string& name, const std::string& value) {
    server.change(kConfigMaps, "default", name, [&](FakeApiServer::Json& object) { object["data"]["key"] = value; });
  }
  void erase(const std::string& name) { server.erase(kConfigMaps, "default", name); }
  [[nodiscard]] std::size_t lists() const { return server.count("GET", "/configmaps") - asked_to_watch(); }
  [[nodiscard]] std::size_t asked_to_watch() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(server.requests(), [](const auto& one) { return one.is_watch(); }));
  }

  FakeApiServer server;
  Client client;
  SharedWatch watch;
};

/// The value that the next news tells, "gone", or the failure.
Task<std::string> next_news(SharedWatch::Reader* reader) {
  auto news = co_await reader->next();
  if (!news) co_return "failed: " + news.error().error.message;
  co_return *news ? (*news)->text({"data", "key"}) : "gone";
}

Task<> keep_news(SharedWatch::Reader* reader, std::string* into) {
  *into = co_await next_news(reader);
}

CO_TEST(SharedWatch, TellsEachReaderItsOwnOverOneConnection, WatchedMaps& maps) {
  std::vector<SharedWatch::Reader> readers;
  std::array<std::string, 20> told;
  TaskGroup group{executor};
  for (std::size_t i = 0; i < told.size(); ++i) {
    auto reader = co_await maps.watch.follow("map-" + std::to_string(i));
    CO_ASSERT_TRUE(reader.has_value()) << reader.error().error.message;
    readers.push_back(std::move(*reader));
  }
  for (std::size_t i = 0; i < told.size(); ++i) group.spawn("reader", keep_news(&readers[i], &told[i]));
  for (std::size_t i = 0; i < told.size(); ++i) maps.put("map-" + std::to_string(i), std::to_string(i));
  co_await group.join();
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], std::to_string(i));
  EXPECT_EQ(maps.asked_to_watch(), 2u) << "the first one's own, and one for the others";
  readers.clear();
  EXPECT_EQ(maps.watch.connections(), 0u) << "nobody reads, and it is still open";
}

CO_TEST(SharedWatch, LooksOnceForAllWhoComeTogether, WatchedMaps& maps) {
  std::array<std::optional<SharedWatch::Reader>, 20> readers;
  std::array<std::string, 20> told;
  const auto follow_one = [&](std::size_t i) -> Task<> {
    auto reader = co_await maps.watch.follow("map-" + std::to_string(i));
    if (!reader) co_return;
    readers[i].emplace(std::move(*reader));
    maps.put("map-" + std::to_string(i), std::to_string(i));
    told[i] = co_await next_news(&*readers[i]);
  };
  co_await in_parallel(readers.size(), readers.size(), follow_one);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], std::to_string(i));
  EXPECT_EQ(maps.lists(), 2u) << "the first one's own, and one for the others";
}

CO_TEST(SharedWatch, LooksAgainForThoseWhoWaitedForALookThatFailed, WatchedMaps& maps) {
  int lists = 0;
  maps.server.before = [&](const FakeApiServer::Request& request) -> std::optional<FakeApiServer::Answer> {
    if (request.is_watch() || !request.parameter("fieldSelector").empty() || ++lists > 1) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "no");
  };
  std::array<bool, 5> followed{};
  const auto follow_one = [&](std::size_t i) -> Task<> {
    followed[i] = (co_await maps.watch.follow("map-" + std::to_string(i))).has_value();
  };
  co_await in_parallel(followed.size(), followed.size(), follow_one);
  EXPECT_EQ(std::ranges::count(followed, false), 1) << "the one who was refused";
}

CO_TEST(SharedWatch, AsksForOneObjectWhileItHasOneReader, WatchedMaps& maps) {
  const auto selectors = [&] {
    std::vector<std::string> all;
    for (const auto& request : maps.server.requests()) all.push_back(request.parameter("fieldSelector"));
    return all;
  };
  const std::string only_a = "metadata.name=a";
  auto a = co_await maps.watch.follow("a");
  auto again = co_await maps.watch.follow("a");
  CO_ASSERT_TRUE(a && again);
  maps.put("other", "1");
  maps.put("a", "1");
  EXPECT_EQ(co_await next_news(&*a), "1");
  EXPECT_EQ(co_await next_news(&*again), "1");
  EXPECT_EQ(selectors(), (std::vector{only_a, only_a})) << "a list and a watch";
  // From the second object on there is one watch for all that come.
  auto b = co_await maps.watch.follow("b");
  auto c = co_await maps.watch.follow("c");
  CO_ASSERT_TRUE(b && c);
  maps.put("b", "1");
  maps.put("c", "1");
  maps.set("a", "2");
  EXPECT_EQ(co_await next_news(&*b), "1");
  EXPECT_EQ(co_await next_news(&*c), "1");
  EXPECT_EQ(co_await next_news(&*a), "2");
  EXPECT_EQ(selectors(), (std::vector<std::string>{only_a, only_a, "", ""}));
}

CO_TEST(SharedWatch, MissesNothingBetweenFollowingAndReading, WatchedMaps& maps) {
  auto reader = co_await maps.watch.follow("a");
  CO_ASSERT_TRUE(reader.has_value());
  maps.put("a", "1");
  EXPECT_EQ(co_await next_news(&*reader), "1");
}

CO_TEST(SharedWatch, KeepsTheNewestStateForOneWhoIsSlow, WatchedMaps& maps) {
  auto first = co_await maps.watch.follow("first");
  auto slow = co_await maps.watch.follow("slow");
  auto other = co_await maps.watch.follow("other");
  CO_ASSERT_TRUE(first && slow && other);
  maps.put("slow", "1");
  maps.erase("slow");
  maps.put("slow", "2");
  maps.put("other", "1");
  EXPECT_EQ(co_await next_news(&*other), "1");
  EXPECT_EQ(co_await next_news(&*slow), "2") << "what came between is not kept";
  maps.erase("slow");
  EXPECT_EQ(co_await next_news(&*slow), "gone");
}

/// A connection that ends, by whatever, is made again, and what happened meanwhile is told.
Task<> go_on_after_an_end(Executor executor, bool in_good_order) {
  WatchedMaps maps{executor};
  auto reader = co_await maps.watch.follow("a");
  CO_ASSERT_TRUE(reader.has_value());
  maps.put("a", "1");
  EXPECT_EQ(co_await next_news(&*reader), "1");
  maps.server.end_watches(in_good_order);
  maps.set("a", "2");
  EXPECT_EQ(co_await next_news(&*reader), "2");
  maps.erase("a");
  EXPECT_EQ(co_await next_news(&*reader), "gone");
  EXPECT_EQ(maps.lists(), 1u) << "it goes on from its version";
  EXPECT_EQ(maps.watch.connections(), 2u);
  co_await maps.server.stop();
}
CO_TEST(SharedWatch, GoesOnWhenTheServerEndsTheWatch) {
  co_await go_on_after_an_end(executor, true);
}
CO_TEST(SharedWatch, GoesOnWhenTheConnectionIsCut) {
  co_await go_on_after_an_end(executor, false);
}

/// Its version has expired meanwhile: all is told anew.
Task<> begin_anew_when_expired(Executor executor, bool is_told_by_status) {
  WatchedMaps maps{executor};
  maps.put("b", "old");
  auto a = co_await maps.watch.follow("a");
  auto b = co_await maps.watch.follow("b");
  auto c = co_await maps.watch.follow("c");
  CO_ASSERT_TRUE(a && b && c);
  maps.put("a", "1");
  maps.put("c", "1");
  EXPECT_EQ(co_await next_news(&*a), "1");
  EXPECT_EQ(co_await next_news(&*c), "1");
  maps.set("a", "2");
  maps.erase("c");
  maps.server.forget_history(is_told_by_status);
  maps.server.end_watches(true);
  EXPECT_EQ(co_await next_news(&*a), "2");
  EXPECT_EQ(co_await next_news(&*b), "old");
  EXPECT_EQ(co_await next_news(&*c), "gone") << "that it went was in no event";
  maps.set("b", "new");
  EXPECT_EQ(co_await next_news(&*b), "new");
  co_await maps.server.stop();
}
CO_TEST(SharedWatch, TellsAllAnewWhenAnEventSaysThatItsVersionIsGone) {
  co_await begin_anew_when_expired(executor, false);
}
CO_TEST(SharedWatch, TellsAllAnewWhenTheStatusSaysThatItsVersionIsGone) {
  co_await begin_anew_when_expired(executor, true);
}

CO_TEST(SharedWatch, TellsEverybodyWhatWaitingDoesNotMend, WatchedMaps& maps) {
  auto first = co_await maps.watch.follow("first");
  auto one = co_await maps.watch.follow("one");
  auto two = co_await maps.watch.follow("two");
  CO_ASSERT_TRUE(first && one && two);
  maps.server.before = [](const FakeApiServer::Request& request) -> std::optional<FakeApiServer::Answer> {
    if (!request.is_watch()) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "no");
  };
  std::array<std::string, 2> told;
  TaskGroup group{executor};
  group.spawn("one", keep_news(&*one, &told[0]));
  group.spawn("two", keep_news(&*two, &told[1]));
  co_await group.join();
  EXPECT_EQ(told[0], "failed: watch configmaps: no (Forbidden, 403)");
  EXPECT_EQ(told[1], told[0]);
  EXPECT_EQ(maps.asked_to_watch(), 1u);
  maps.server.before = {};
  maps.put("two", "1");
  EXPECT_EQ(co_await next_news(&*two), "1") << "it may be asked again";
}

CO_TEST(SharedWatch, FollowsNothingThatItMayNotList, WatchedMaps& maps) {
  maps.server.before = [](const auto&) { return FakeApiServer::refusal(403, "Forbidden", "no"); };
  auto reader = co_await maps.watch.follow("a");
  CO_ASSERT_TRUE(!reader.has_value());
  EXPECT_TRUE(reader.error().forbidden());
  EXPECT_EQ(maps.asked_to_watch(), 0u);
}

Task<> read_until_cancelled(SharedWatch::Reader* reader, bool* was_cancelled) {
  try {
    (void)co_await reader->next();
  } catch (const boost::system::system_error&) {
    *was_cancelled = true;
    throw;
  }
}

CO_TEST(SharedWatch, GoesOnWhenTheOneWhoReadsForAllIsCancelled, WatchedMaps& maps) {
  auto alone = co_await maps.watch.follow("alone");
  auto first = co_await maps.watch.follow("first");
  auto staying = co_await maps.watch.follow("staying");
  CO_ASSERT_TRUE(alone && first && staying);
  std::optional<SharedWatch::Reader> leaving{std::move(*first)};
  bool was_cancelled = false;
  std::string told;
  TaskGroup reading{executor};
  TaskGroup waiting{executor};
  reading.spawn("the one who reads", read_until_cancelled(&*leaving, &was_cancelled));
  waiting.spawn("the one who waits", keep_news(&*staying, &told));
  reading.cancel();
  co_await reading.join();
  EXPECT_TRUE(was_cancelled);
  leaving.reset();
  maps.put("staying", "1");
  co_await waiting.join();
  EXPECT_EQ(told, "1");
}

}  // namespace
}  // namespace skiff::kube
