#include "container/serve/list/list_feed.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/task_group.hpp"
#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;
using Kind = ListEvent::Kind;

class Noticing final : public ListWatch {
 public:
  [[nodiscard]] bool sees_all() const noexcept override { return true; }
};

/// Lists what the test says.
class ListDriver final : public fakes::RefusingDriver {
 public:
  Task<Result<SandboxPage>> list(SandboxFilter filter) override {
    ++looks;
    if (is_away) co_return fail(Errc::cluster_unavailable, "away");
    SandboxPage page;
    for (const auto& [name, one] : records) {
      if (one.owner == filter.owner) page.items.push_back(one);
    }
    co_return page;
  }
  [[nodiscard]] std::unique_ptr<ListWatch> watch_list(Executor, std::function<void()> changed) override {
    if (!notices) return nullptr;
    tell = std::move(changed);
    return std::make_unique<Noticing>();
  }

  void put(const std::string& name, const std::string& id, SandboxState state = SandboxState::running,
           const std::string& owner = "tenant") {
    Sandbox& one = records[name];
    one.name = name;
    one.id = id;
    one.state = state;
    one.owner = owner;
  }

  std::map<std::string, Sandbox> records;
  std::function<void()> tell = [] {};
  bool notices = true;
  bool is_away = false;
  int looks = 0;
};

class ListTenants final : public Tenants {
 public:
  Task<Result<Driver*>> driver(std::string) override { co_return &hosted; }
  ListDriver hosted;
};

std::string show(const Sandbox& one) {
  return one.name + ":" + std::string{state_word(one.state)};
}

/// Lets what is ready to run do so.
Task<> run_ready_tasks() {
  for (int i = 0; i < 20; ++i) co_await boost::asio::post(co_await boost::asio::this_coro::executor, use_task);
}

struct Scene {
  explicit Scene(Executor executor,
                 ListFeed::Limits limits = {.between_looks = 1ms, .look_for_changes = 1ms, .look_anyway = 1h})
      : feed{executor, &fleet, "tenant", &show, limits}, tasks{executor} {}

  void begin() {
    tasks.spawn("feed", feed.run(1h));
    feed.enter();
  }
  static Task<> stop(Scene* self) {
    self->tasks.cancel();
    co_await self->tasks.join();
  }
  /// Waits until the feed has this many events.
  static Task<> await(Scene* self, std::uint64_t number) {
    while (self->feed.newest() < number) co_await self->feed.changed().wait();
  }
  [[nodiscard]] std::string text_of(std::uint64_t number) const {
    const ListEvent& event = feed.event(number);
    const std::string of = event.sandbox ? " " + event.sandbox->json : std::string{};
    switch (event.kind) {
      case Kind::added:
        return "added" + of;
      case Kind::changed:
        return "changed" + of;
      case Kind::removed:
        return "removed" + of;
      case Kind::unavailable:
        return "unavailable";
      case Kind::available:
        return "available";
    }
    return {};
  }

  ListTenants tenants;
  FixedKeys store;
  KeyCache keys{&store};
  Templates templates = Templates::create({.name = {}}, {}).value();
  Fleet fleet{&tenants, &keys, &templates};
  ListFeed feed;
  TaskGroup tasks;
};

CO_TEST(ListFeed, KnowsWhatThereIsAndTellsWhatChanges) {
  Scene scene{executor};
  ListDriver& host = scene.tenants.hosted;
  host.put("one", "1");
  host.put("foreign", "9", SandboxState::running, "other");
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  EXPECT_EQ(scene.feed.newest(), 0U);
  CO_ASSERT_TRUE(scene.feed.all().size() == 1);
  EXPECT_EQ(scene.feed.all()[0]->json, "one:running");

  host.put("two", "2", SandboxState::stopped);
  host.tell();
  co_await Scene::await(&scene, 1);
  EXPECT_EQ(scene.text_of(1), "added two:stopped");
  host.put("one", "1", SandboxState::failed);
  host.tell();
  co_await Scene::await(&scene, 2);
  EXPECT_EQ(scene.text_of(2), "changed one:failed");
  host.records.erase("one");
  host.tell();
  co_await Scene::await(&scene, 3);
  EXPECT_EQ(scene.text_of(3), "removed one:failed");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, TellsALaterSandboxOfANameFromTheOneBefore) {
  Scene scene{executor};
  ListDriver& host = scene.tenants.hosted;
  host.put("one", "1");
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  host.put("one", "2");
  host.tell();
  co_await Scene::await(&scene, 2);
  EXPECT_EQ(scene.text_of(1), "removed one:running");
  EXPECT_EQ(scene.text_of(2), "added one:running");
  EXPECT_EQ(scene.feed.event(1).sandbox->uid, "1");
  EXPECT_EQ(scene.feed.event(2).sandbox->uid, "2");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, LooksAgainWhereNobodyNotices) {
  Scene scene{executor};
  scene.tenants.hosted.notices = false;
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  scene.tenants.hosted.put("one", "1");
  co_await Scene::await(&scene, 1);
  EXPECT_EQ(scene.text_of(1), "added one:running");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, LooksAgainWhileASandboxIsBeingCreated) {
  Scene scene{executor};
  scene.tenants.hosted.put("one", "1", SandboxState::creating);
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  scene.tenants.hosted.put("one", "1", SandboxState::failed);
  co_await Scene::await(&scene, 1);
  EXPECT_EQ(scene.text_of(1), "changed one:failed");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, SaysThatTheListCannotBeReadAndThatItCanBeAgain) {
  Scene scene{executor};
  ListDriver& host = scene.tenants.hosted;
  host.put("one", "1");
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  host.is_away = true;
  host.tell();
  co_await Scene::await(&scene, 1);
  EXPECT_EQ(scene.text_of(1), "unavailable");
  CO_ASSERT_TRUE(scene.feed.trouble() != nullptr);
  EXPECT_EQ(scene.feed.trouble()->code, Errc::cluster_unavailable);
  const auto refused = co_await scene.feed.await_current();
  EXPECT_FALSE(refused);
  EXPECT_EQ(scene.feed.all().size(), 1U);
  host.records.clear();
  host.is_away = false;
  co_await Scene::await(&scene, 3);
  EXPECT_EQ(scene.text_of(2), "removed one:running");
  EXPECT_EQ(scene.text_of(3), "available");
  EXPECT_EQ(scene.feed.trouble(), nullptr);
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, ForgetsTheOldestEventsAndSaysSo) {
  Scene scene{executor, {.most_events = 2, .between_looks = 1ms, .look_for_changes = 1ms, .look_anyway = 1h}};
  ListDriver& host = scene.tenants.hosted;
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  for (const char* const name : {"one", "two", "three"}) host.put(name, name);
  host.tell();
  co_await Scene::await(&scene, 3);
  EXPECT_FALSE(scene.feed.keeps_after(0));
  EXPECT_TRUE(scene.feed.keeps_after(1));
  EXPECT_TRUE(scene.feed.keeps_after(3));
  EXPECT_FALSE(scene.feed.keeps_after(4));
  EXPECT_EQ(scene.text_of(3), "added two:running");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, DoesNotLookWithoutReadersAndTellsTheNextOneWhatHasChanged) {
  Scene scene{executor, {.between_looks = 1ms, .look_for_changes = 1ms, .look_anyway = 1ms}};
  ListDriver& host = scene.tenants.hosted;
  host.put("one", "1");
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  scene.feed.leave();
  host.tell();
  co_await run_ready_tasks();
  const int looks = host.looks;
  host.put("two", "2");
  host.tell();
  co_await run_ready_tasks();
  EXPECT_EQ(host.looks, looks);
  EXPECT_EQ(scene.feed.newest(), 0U);
  scene.feed.enter();
  EXPECT_TRUE(co_await scene.feed.await_current());
  EXPECT_EQ(scene.feed.newest(), 1U);
  EXPECT_EQ(scene.text_of(1), "added two:running");
  co_await Scene::stop(&scene);
}

CO_TEST(ListFeed, EndsForAllReadersWhenItIsCancelled) {
  Scene scene{executor};
  scene.begin();
  EXPECT_TRUE(co_await scene.feed.await_current());
  EXPECT_FALSE(scene.feed.is_over());
  co_await Scene::stop(&scene);
  EXPECT_TRUE(scene.feed.is_over());
  const auto refused = co_await scene.feed.await_current();
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::draining);
}

}  // namespace
}  // namespace skiff::container::serve
