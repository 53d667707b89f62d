#include "container/kube/mirror.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/async/task_group.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/fake_api_server.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using fakes::FakeApiServer;
using test::once;

std::vector<std::string> words_of(const Object& map) {
  std::istringstream words{map.text({"data", "group"})};
  return {std::istream_iterator<std::string>{words}, {}};
}

/// A server with ConfigMaps, and a copy of them that is kept. A map's groups are the words of its key `group`.
struct MirroredMaps {
  explicit MirroredMaps(Executor executor)
      : server{executor},
        client{Transport::open(executor, std::make_shared<BlockingPool>("test", 1), server.access(), test::quick())
                   .value()},
        mirror{&client, {.resource = kConfigMaps, .namespace_name = "default"}, &words_of},
        tasks{executor} {}

  Task<> begin() {
    put("first", "1");
    tasks.spawn("mirror", mirror.run());
    co_await once([this] { return mirror.is_complete(); });
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
    co_await server.stop();
  }
  Object put(const std::string& name, const std::string& value, const std::string& group = {}) {
    Object object = Object::make(kConfigMaps, "default", name);
    object.json["data"] = {{"key", value}, {"group", group}};
    return server.put(kConfigMaps, std::move(object));
  }
  void set(const std::string& name, const std::string& value) {
    server.change(kConfigMaps, "default", name, [&](FakeApiServer::Json& object) { object["data"]["key"] = value; });
  }
  [[nodiscard]] std::string value(const std::string& name) const {
    const auto found = mirror.find(name);
    return found ? found->text({"data", "key"}) : "none";
  }

  FakeApiServer server;
  Client client;
  Mirror mirror;
  TaskGroup tasks;
};

CO_TEST(Mirror, KnowsWhatTheWatchTells, MirroredMaps& maps) {
  EXPECT_EQ(maps.value("first"), "1");
  maps.put("second", "2", "pool");
  maps.set("first", "3");
  co_await once([&] { return maps.value("first") == "3"; });
  EXPECT_EQ(maps.value("second"), "2");
  EXPECT_EQ(maps.mirror.group("pool"), Mirror::Names{"second"});
  EXPECT_EQ(maps.mirror.groups("po", "po", 9), std::vector<std::string>{"pool"});
  EXPECT_TRUE(maps.mirror.groups("po", "poom", 9).empty());
  EXPECT_TRUE(maps.mirror.groups("po", "po", 0).empty());
  EXPECT_TRUE(maps.mirror.groups("a", "a", 9).empty());
  maps.server.erase(kConfigMaps, "default", "second");
  co_await once([&] { return maps.value("second") == "none"; });
  EXPECT_TRUE(maps.mirror.group("pool").empty());
  maps.put("third", "1", "pool on/node");
  co_await once([&] { return maps.value("third") == "1"; });
  EXPECT_EQ(maps.mirror.group("pool"), maps.mirror.group("on/node"));
  maps.server.change(kConfigMaps, "default", "third",
                     [](FakeApiServer::Json& one) { one["data"]["group"] = "on/node"; });
  co_await once([&] { return maps.mirror.group("pool").empty(); });
  EXPECT_EQ(maps.mirror.group("on/node"), Mirror::Names{"third"});
}

CO_TEST(Mirror, KnowsAnAnswerBeforeItsEventAndNoOlderOne, MirroredMaps& maps) {
  const Object before = *maps.server.find(kConfigMaps, "default", "first");
  maps.set("first", "2");
  const Object after = *maps.server.find(kConfigMaps, "default", "first");
  maps.mirror.note(after);
  EXPECT_EQ(maps.value("first"), "2") << "its event has not come yet";
  maps.mirror.note(before);
  EXPECT_EQ(maps.value("first"), "2");
  co_return;
}

CO_TEST(Mirror, AnAnswerThatComesAfterTheEndBringsNothingBack, MirroredMaps& maps) {
  const Object made = maps.put("second", "2");
  maps.server.erase(kConfigMaps, "default", "second");
  maps.put("third", "3");
  co_await once([&] { return maps.value("third") == "3"; });
  maps.mirror.note(made);
  EXPECT_EQ(maps.value("second"), "none");
}

CO_TEST(Mirror, WhatThisProcessHasRemovedIsNotThereAnyMore, MirroredMaps& maps) {
  const std::string uid = maps.mirror.find("first")->uid();
  maps.mirror.note_removed("first", "another");
  EXPECT_EQ(maps.value("first"), "1") << "another one of that name was removed";
  maps.mirror.note_removed("first", uid);
  EXPECT_EQ(maps.value("first"), "none");
  EXPECT_EQ(maps.mirror.certain_at("first"), SteadyTime{});
  // A change that was made before the removal is told after it.
  maps.set("first", "2");
  maps.put("second", "2");
  co_await once([&] { return maps.value("second") == "2"; });
  EXPECT_EQ(maps.value("first"), "none");
  maps.put("first", "a new one");
  co_await once([&] { return maps.value("first") == "a new one"; });
}

CO_TEST(Mirror, GoesOnAfterTheServerHasForgottenTheChanges, MirroredMaps& maps) {
  for (const bool is_told_by_status : {false, true}) {
    maps.put("lost", "1");
    maps.server.erase(kConfigMaps, "default", "lost");
    const std::string name = is_told_by_status ? "by status" : "by event";
    maps.put(name, "1");
    maps.server.forget_history(is_told_by_status);
    maps.server.end_watches(true);
    co_await once([&] { return maps.value(name) == "1"; });
    EXPECT_EQ(maps.value("lost"), "none");
    EXPECT_EQ(maps.value("first"), "1");
  }
}

CO_TEST(Mirror, KeepsWhatItKnowsWhileItIsRefused, MirroredMaps& maps) {
  bool is_refused = true;
  maps.server.before = [&](const FakeApiServer::Request&) -> std::optional<FakeApiServer::Answer> {
    if (!is_refused) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "no");
  };
  const std::size_t before = maps.server.requests().size();
  maps.server.end_watches(true);
  co_await once([&] { return maps.server.requests().size() > before + 1; });
  EXPECT_EQ(maps.value("first"), "1");
  is_refused = false;
  maps.put("second", "2");
  co_await once([&] { return maps.value("second") == "2"; });
}

}  // namespace
}  // namespace skiff::kube
