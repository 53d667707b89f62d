// One watch of a real API server for many who wait.
#include "container/kube/shared_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <boost/system/system_error.hpp>

#include "base/async/task_group.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using test::config_map;
using test::connect_as;
using test::create_namespace;

constexpr int kReaders = 100;

WatchOptions all_of(const std::string& ns) {
  return {.resource = kConfigMaps, .namespace_name = ns};
}

struct Told {
  int states = 0;
  std::string value;
  bool is_gone = false;
};

/// Reads until the object says so, or is gone.
Task<> read_until(SharedWatch::Reader* reader, std::string value, Told* told) {
  while (told->value != value && !told->is_gone) {
    auto state = co_await reader->next();
    CO_ASSERT_TRUE(state.has_value()) << state.error().error.message;
    ++told->states;
    told->is_gone = !state->has_value();
    if (*state) told->value = (*state)->text({"data", "key"});
  }
}

Task<> make(Client* client, std::string ns, std::string name, std::string value) {
  auto made = co_await client->create(kConfigMaps, config_map(ns, name, value));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
}

CO_TEST(KubeSharedWatch, TellsEachOfManyReadersItsOwnOverOneConnection) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  SharedWatch watch{&client, executor, all_of(ns)};
  std::vector<SharedWatch::Reader> readers;
  std::vector<Told> told(kReaders);
  TaskGroup group{executor};
  for (int i = 0; i < kReaders; ++i) {
    auto reader = co_await watch.follow("object-" + std::to_string(i));
    CO_ASSERT_TRUE(reader.has_value()) << reader.error().error.message;
    readers.push_back(std::move(*reader));
  }
  for (int i = 0; i < kReaders; ++i) {
    const auto at = static_cast<std::size_t>(i);
    group.spawn("reader", read_until(&readers[at], std::to_string(i), &told[at]));
  }
  for (int i = 0; i < kReaders; ++i) {
    co_await make(&client, ns, "object-" + std::to_string(i), std::to_string(i));
  }
  co_await group.join();
  for (const Told& one : told) EXPECT_EQ(one.states, 1);
  EXPECT_EQ(watch.connections(), 2u) << "the first one's own, and one for the others";
  readers.clear();
  EXPECT_EQ(watch.connections(), 0u) << "nobody reads, and it is still open";
}

CO_TEST(KubeSharedWatch, MissesNothingBetweenFollowingAndReading) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  SharedWatch watch{&client, executor, all_of(ns)};
  auto reader = co_await watch.follow("a");
  CO_ASSERT_TRUE(reader.has_value());
  co_await make(&client, ns, "a", "1");
  Told told;
  co_await read_until(&*reader, "1", &told);
  EXPECT_EQ(told.states, 1);
}

/// Reads until it is cancelled.
Task<> read_on(SharedWatch::Reader* reader, bool* was_cancelled) {
  try {
    (void)co_await reader->next();
  } catch (const boost::system::system_error&) {
    *was_cancelled = true;
    throw;
  }
}

CO_TEST(KubeSharedWatch, GoesOnWhenTheOneWhoReadsForAllIsCancelled) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  SharedWatch watch{&client, executor, all_of(ns)};
  auto alone = co_await watch.follow("alone");
  CO_ASSERT_TRUE(alone.has_value());
  auto first = co_await watch.follow("first");
  CO_ASSERT_TRUE(first.has_value());
  std::optional<SharedWatch::Reader> leaving{std::move(*first)};
  auto staying = co_await watch.follow("staying");
  CO_ASSERT_TRUE(staying.has_value());
  bool was_cancelled = false;
  Told told;
  TaskGroup reading{executor};
  TaskGroup waiting{executor};
  reading.spawn("the one who reads", read_on(&*leaving, &was_cancelled));
  waiting.spawn("the one who waits", read_until(&*staying, "1", &told));
  reading.cancel();
  co_await reading.join();
  EXPECT_TRUE(was_cancelled);
  leaving.reset();
  co_await make(&client, ns, "staying", "1");
  co_await waiting.join();
  EXPECT_EQ(told.value, "1");
}

CO_TEST(KubeSharedWatch, KeepsTheNewestStateForOneWhoIsSlow) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  SharedWatch watch{&client, executor, all_of(ns)};
  auto alone = co_await watch.follow("alone");
  CO_ASSERT_TRUE(alone.has_value());
  auto slow = co_await watch.follow("slow");
  CO_ASSERT_TRUE(slow.has_value());
  auto other = co_await watch.follow("other");
  CO_ASSERT_TRUE(other.has_value());
  co_await make(&client, ns, "slow", "1");
  auto removed = co_await client.remove(kConfigMaps, ns, "slow");
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().error.message;
  co_await make(&client, ns, "slow", "2");
  co_await make(&client, ns, "other", "1");
  Told told;
  co_await read_until(&*other, "1", &told);
  co_await read_until(&*slow, "2", &told);
  EXPECT_EQ(told.states, 2) << "one of each: what came between is not kept";
  removed = co_await client.remove(kConfigMaps, ns, "slow");
  co_await read_until(&*slow, "3", &told);
  EXPECT_TRUE(told.is_gone);
}

CO_TEST(KubeSharedWatch, FollowsNothingWithoutPermission) {
  Client client = connect_as(executor, "outsider");
  SharedWatch watch{&client, executor, all_of("default")};
  auto reader = co_await watch.follow("a");
  CO_ASSERT_TRUE(!reader.has_value());
  EXPECT_TRUE(reader.error().forbidden());
  EXPECT_EQ(watch.connections(), 0u);
}

Task<> tell_all_after_a_restart(Executor executor) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  SharedWatch watch{&client, executor, all_of(ns)};
  auto one = co_await watch.follow("one");
  CO_ASSERT_TRUE(one.has_value());
  auto two = co_await watch.follow("two");
  CO_ASSERT_TRUE(two.has_value());
  std::array<Told, 2> told;
  TaskGroup group{executor};
  group.spawn("one", read_until(&*one, "1", &told[0]));
  group.spawn("two", read_until(&*two, "1", &told[1]));
  test::cluster().restart_the_server();
  co_await make(&client, ns, "one", "1");
  co_await make(&client, ns, "two", "1");
  co_await group.join();
  EXPECT_EQ(told[0].value + told[1].value, "11");
}

TEST(KubeSharedWatch, TellsAllOfThemWhenTheServerHasBeenKilledAndStartedAgain) {
  skiff::test::run_on_reactor(tell_all_after_a_restart, std::chrono::seconds{120});
}

}  // namespace
}  // namespace skiff::kube
