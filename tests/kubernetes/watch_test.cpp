// Watches of a real API server, also while it is killed.
#include "container/kube/watch.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Kind = WatchEvent::Kind;
using test::config_map;
using test::connect_as;
using test::create_namespace;

WatchOptions labelled(const std::string& ns) {
  return {.resource = kConfigMaps, .namespace_name = ns, .label_selector = "watched=yes"};
}

Object watched(const std::string& ns, const std::string& name, const std::string& value) {
  Object object = config_map(ns, name, value);
  object.json["metadata"]["labels"]["watched"] = "yes";
  return object;
}

Task<> expect(Watch* watch, Kind kind, std::string name, std::string value) {
  auto event = co_await watch->next();
  CO_ASSERT_TRUE(event.has_value()) << event.error().error.message;
  EXPECT_EQ(event->kind, kind);
  CO_ASSERT_TRUE(event->objects.size() == 1);
  EXPECT_EQ(event->objects[0].name(), name);
  EXPECT_EQ(event->objects[0].text({"data", "key"}), value);
}

CO_TEST(KubeWatch, TellsASnapshotAndThenEveryChange) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.create(kConfigMaps, watched(ns, "a", "1"));
  CO_ASSERT_TRUE(made.has_value());
  Watch watch{&client, labelled(ns)};
  co_await expect(&watch, Kind::snapshot, "a", "1");
  made = co_await client.create(kConfigMaps, watched(ns, "b", "1"));
  made = co_await client.create(kConfigMaps, config_map(ns, "unseen", "1"));
  auto patched = co_await client.patch(kConfigMaps, ns, "a", PatchKind::merge, {{"data", {{"key", "2"}}}});
  auto removed = co_await client.remove(kConfigMaps, ns, "b");
  co_await expect(&watch, Kind::added, "b", "1");
  co_await expect(&watch, Kind::modified, "a", "2");
  co_await expect(&watch, Kind::deleted, "b", "1");
  EXPECT_EQ(watch.connections(), 1u);
}

CO_TEST(KubeWatch, BeginsBehindTheObjectThatWasJustMade) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.create(kConfigMaps, watched(ns, "a", "1"));
  CO_ASSERT_TRUE(made.has_value());
  WatchOptions options = labelled(ns);
  options.resource_version = made->resource_version();
  options.field_selector = "metadata.name=a";
  auto patched = co_await client.patch(kConfigMaps, ns, "a", PatchKind::merge, {{"data", {{"key", "2"}}}});
  Watch watch{&client, std::move(options)};
  co_await expect(&watch, Kind::modified, "a", "2");
}

CO_TEST(KubeWatch, FailsWithoutPermission) {
  Client client = connect_as(executor, "outsider");
  Watch watch{&client, labelled("default")};
  auto event = co_await watch.next();
  CO_ASSERT_TRUE(!event.has_value());
  EXPECT_TRUE(event.error().forbidden());
}

CO_TEST(KubeWatch, SeesWhatGoesWithItsOwner) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto owner = co_await client.create(kConfigMaps, config_map(ns, "owner", "1"));
  CO_ASSERT_TRUE(owner.has_value());
  Object object = watched(ns, "owned", "1");
  object.json["metadata"]["ownerReferences"] = nlohmann::json::array({owner->owner_reference()});
  auto owned = co_await client.create(kConfigMaps, std::move(object));
  CO_ASSERT_TRUE(owned.has_value()) << owned.error().error.message;
  auto removed = co_await client.remove(kConfigMaps, ns, "owner");
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().error.message;
  WatchOptions options = labelled(ns);
  options.resource_version = owned->resource_version();
  Watch watch{&client, std::move(options)};
  co_await expect(&watch, Kind::deleted, "owned", "1");
}

Task<> go_on_after_a_restart(Executor executor) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  Watch watch{&client, labelled(ns)};
  auto event = co_await watch.next();
  EXPECT_TRUE(event.has_value());
  auto made = co_await client.create(kConfigMaps, watched(ns, "before", "1"));
  co_await expect(&watch, Kind::added, "before", "1");
  test::cluster().restart_the_server();
  made = co_await client.create(kConfigMaps, watched(ns, "after", "1"));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  // The new server may or may not remember the version: an event or a snapshot, either way nothing is missed.
  std::set<std::string> known{"before"};
  while (!known.contains("after")) {
    event = co_await watch.next();
    CO_ASSERT_TRUE(event.has_value()) << event.error().error.message;
    EXPECT_TRUE(event->kind == Kind::snapshot || event->kind == Kind::added);
    if (event->kind == Kind::snapshot) known.clear();
    for (const Object& object : event->objects) known.insert(object.name());
  }
  EXPECT_EQ(known, (std::set<std::string>{"before", "after"}));
}

/// A server that has just begun keeps no state from before: it answers 200, and then the error 410.
Task<> take_a_snapshot(Executor executor) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.create(kConfigMaps, watched(ns, "a", "1"));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  test::cluster().restart_the_server();
  WatchOptions options = labelled(ns);
  options.resource_version = "1";
  Watch watch{&client, std::move(options)};
  co_await expect(&watch, Kind::snapshot, "a", "1");
  EXPECT_EQ(watch.connections(), 1u) << "it was told that the version is too old";
}

constexpr std::chrono::seconds kRestart{120};

TEST(KubeWatch, GoesOnWhenTheServerHasBeenKilledAndStartedAgain) {
  skiff::test::run_on_reactor(go_on_after_a_restart, kRestart);
}

TEST(KubeWatch, TakesASnapshotWhenItsVersionIsForgotten) {
  skiff::test::run_on_reactor(take_a_snapshot, kRestart);
}

}  // namespace
}  // namespace skiff::kube
