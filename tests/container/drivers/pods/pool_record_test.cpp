#include "container/drivers/pods/pool_record.hpp"
#include "container/cluster/pod/network_policies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/cluster/labels.hpp"
#include "tests/container/cluster/manifest_context.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using test::manifest_context;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PoolSpec pool_of(unsigned size) {
  PoolSpec wanted{.name = "python", .size = size};
  wanted.sandbox.image = "python:3.12-slim";
  wanted.sandbox.owner = "ops@example.org";  // no label holds it, so the whole of it is an annotation
  wanted.sandbox.pod.agent_image = "skiff:1";
  return wanted;
}

Object record_of(const PoolSpec& spec) {
  Object record = create_pool_record(spec, "ns", "skiff-");
  record.json["metadata"]["uid"] = "uid-of-the-record";
  return record;
}

/// A Pod as the API server has it.
Object member(unsigned number, std::string_view state = "free", bool ready = true) {
  const PoolSpec spec = pool_of(3);
  Object pod = create_member(spec, record_of(spec), manifest_context(), number).value();
  pod.json["metadata"]["uid"] = "uid-" + std::to_string(number);
  labels::put(pod, labels::kPoolState, state);
  pod.json["status"] = {{"phase", "Running"},
                        {"conditions", json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}};
  return pod;
}

std::vector<std::string> names_of(const std::vector<Object>& pods) {
  std::vector<std::string> all;
  for (const Object& pod : pods) all.push_back(pod.name());
  return all;
}

Object patched(const Object& pod, const json& patch) {
  Object changed = pod;
  changed.json = pod.json.patch(patch);
  return changed;
}

TEST(PoolRecord, IsReadAsItWasWritten) {
  PoolSpec written = pool_of(3);
  written.sandbox.lease.ttl = std::chrono::hours{1};
  const Object record = record_of(written);
  EXPECT_EQ(record.name(), "skiff-pool-python");
  EXPECT_EQ(record.label(labels::kComponent), "pool");
  const auto read = read_pool_record(record);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->name, "python");
  EXPECT_EQ(read->size, 3u);
  EXPECT_EQ(read->sandbox.image, "python:3.12-slim");
  EXPECT_FALSE(read->sandbox.lease.ttl.has_value()) << "a lease begins when a sandbox is taken";
}

TEST(PoolRecord, IsRefusedWhenSomebodyElseWroteIt) {
  for (const char* size : {"", "many", "-1", "1001", "3x"}) {
    Object record = record_of(pool_of(3));
    record.json["data"]["size"] = size;
    EXPECT_FALSE(read_pool_record(record).has_value()) << size;
  }
  Object record = record_of(pool_of(3));
  record.json["data"]["spec"] = "{";
  EXPECT_FALSE(read_pool_record(record).has_value());
}

TEST(PoolRecord, OwnsItsPodsWhichNobodyTakesForSandboxes) {
  const Object pod = member(7);
  EXPECT_EQ(pod.name(), "skiff-pool-python-7");
  EXPECT_EQ(pod.label(labels::kPool), "python");
  EXPECT_EQ(pod.label(labels::kPoolState), "free");
  EXPECT_EQ(pod.label(labels::kSandbox), "s-1");
  EXPECT_NE(pod.label(labels::kComponent), "sandbox");
  EXPECT_EQ(pod.json["metadata"]["ownerReferences"][0]["uid"], "uid-of-the-record");
}

TEST(PoolRecord, HasItsPodsUnderAPolicyOfTheirKindWhateverTheySpeak) {
  PoolSpec spec = pool_of(1);
  spec.sandbox.pod.dialects = {"python-runtime"};
  const auto network = [&] {
    return create_member(spec, record_of(spec), manifest_context(), 0).value().label(labels::kNetwork);
  };
  EXPECT_EQ(network(), "");
  spec.sandbox.pod.network = "deny";
  EXPECT_EQ(network(), "deny") << "one that waits has no policy of its own";
  EXPECT_EQ(network_label(spec.sandbox.pod), "own") << "which it gets when it is taken";
}

TEST(PoolRecord, CountsWhatIsAvailableActiveAndAll) {
  Object dead = member(3);
  dead.json["status"]["phase"] = "Failed";
  Object going = member(4);
  going.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Object ended = member(5, "taken");
  ended.json["status"]["phase"] = "Succeeded";
  const PoolStatus status = count_members(
      pool_of(3), {member(0), member(1, "free", false), member(2, "taken"), dead, going, ended, member(6, "leaving")});
  EXPECT_EQ(status.available, 1u);
  EXPECT_EQ(status.active, 1u);
  EXPECT_EQ(status.total, 3u);
  EXPECT_EQ(status.target, 3u);
}

TEST(PoolRecord, IsLookedAtInPartsOfAFewPodsWhereItIsLarge) {
  EXPECT_EQ(some_slots(8, 7), "");
  EXPECT_EQ(some_slots(200, 7), "skiff.dev/pool-slot in (7)");
  EXPECT_EQ(some_slots(64, 62), "skiff.dev/pool-slot in (62,37,12,51)");
  for (unsigned random = 0; random < 64; ++random) {
    const std::string parts = "," + some_slots(10, random).substr(std::string{"skiff.dev/pool-slot in ("}.size());
    int read = 0;
    for (unsigned number = 0; number < 10; ++number) {
      if (parts.contains("," + std::to_string(number) + ",")) ++read;
    }
    EXPECT_GE(read, 2) << "a pool that is full seems to be empty: " << parts;
  }
  EXPECT_EQ(some_slots(1'000, 64), "skiff.dev/pool-slot in (0)");
  EXPECT_EQ(member(7).label(labels::kPoolSlot), "7");
  EXPECT_EQ(member(71).label(labels::kPoolSlot), "7");
}

TEST(PoolPlan, MakesWhatIsMissingUnderTheLowestNumbersThatAreNotInUse) {
  const PoolSpec spec = pool_of(3);
  EXPECT_THAT(plan_pool(spec, record_of(spec), {}).create, ElementsAre(0u, 1u, 2u));
  const PoolPlan plan = plan_pool(spec, record_of(spec), {member(0, "taken"), member(2)});
  EXPECT_THAT(plan.create, ElementsAre(1u, 3u));
  EXPECT_THAT(plan.remove, IsEmpty());
}

TEST(PoolPlan, LeavesAFullPoolAlone) {
  const PoolSpec spec = pool_of(2);
  const PoolPlan plan = plan_pool(spec, record_of(spec), {member(0), member(1, "free", false), member(2, "taken")});
  EXPECT_THAT(plan.create, IsEmpty());
  EXPECT_THAT(plan.remove, IsEmpty());
}

TEST(PoolPlan, RemovesFreeOnesOnlyThoseThatAreNotReadyFirstThenTheHighestNumbers) {
  const PoolSpec spec = pool_of(1);
  const PoolPlan plan =
      plan_pool(spec, record_of(spec), {member(0, "taken"), member(1), member(2, "free", false), member(3), member(4)});
  EXPECT_THAT(names_of(plan.remove), ElementsAre("skiff-pool-python-2", "skiff-pool-python-4", "skiff-pool-python-3"));
}

TEST(PoolPlan, ReplacesWhatEndedWhileItWaitedAndFinishesRemovals) {
  const PoolSpec spec = pool_of(1);
  Object dead = member(0);
  dead.json["status"]["phase"] = "Failed";
  Object going = member(2);
  going.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  const PoolPlan plan = plan_pool(spec, record_of(spec), {dead, member(1, "leaving"), going});
  EXPECT_THAT(names_of(plan.remove), ElementsAre("skiff-pool-python-0", "skiff-pool-python-1"));
  EXPECT_THAT(plan.create, ElementsAre(3u)) << "the name of one that is on its way out is still in use";
}

TEST(TakePatch, GivesAPodToASandboxWithAllThatIsWrittenOnIt) {
  SandboxSpec sandbox{.name = "box", .owner = "ann", .labels = {{"team", "blue"}}};
  sandbox.lease.ttl = std::chrono::hours{1};
  sandbox.pod.network = "deny";
  Object record;
  record.json = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "skiff-box"}, {"uid", "u-9"}}}};
  const Object free = member(0);
  ASSERT_EQ(labels::get(free, labels::kOwner), "ops@example.org");
  const Object taken = patched(free, take_patch(free, sandbox, record));
  EXPECT_EQ(member_state(taken), MemberState::taken);
  EXPECT_EQ(taken.name(), free.name());
  EXPECT_EQ(taken.label(labels::kSandbox), "s-1") << "its id stays: its agent goes by it";
  EXPECT_EQ(taken.label(labels::kComponent), "sandbox");
  EXPECT_EQ(labels::get(taken, labels::kName), "box");
  EXPECT_EQ(labels::get(taken, labels::kOwner), "ann") << "nothing of the pool's owner is left";
  EXPECT_EQ(taken.label(labels::kNetwork), "deny");
  EXPECT_EQ(labels::user_labels(taken), (std::map<std::string, std::string>{{"team", "blue"}}));
  EXPECT_NE(taken.annotation(labels::kExpiresAt), "");
  ASSERT_EQ(taken.json["metadata"]["ownerReferences"].size(), 1u);
  EXPECT_EQ(taken.json["metadata"]["ownerReferences"][0]["uid"], "u-9");
  EXPECT_EQ(taken.annotation(labels::kTakenBy), "") << "it was no server";
  EXPECT_EQ(patched(free, take_patch(free, sandbox, record, "7")).annotation(labels::kTakenBy), "7");
  EXPECT_TRUE(was_taken_for(taken, sandbox, record));
  EXPECT_FALSE(was_taken_for(free, sandbox, record));
  sandbox.name = "another";
  EXPECT_FALSE(was_taken_for(taken, sandbox, record));
}

TEST(TakePatch, PutsASandboxThatFewMayReachUnderAPolicyOfItsOwn) {
  SandboxSpec sandbox{.name = "box", .owner = "ann"};
  sandbox.pod.allow = {"203.0.113.7/32"};
  sandbox.pod.network = "dns";
  const Object free = member(0);
  EXPECT_EQ(patched(free, take_patch(free, sandbox, std::nullopt)).label(labels::kNetwork), "own");
}

TEST(TakePatch, GivesASandboxWithEgressByNameAPodAloneThatWasBehindTheFence) {
  SandboxSpec sandbox{.name = "box", .owner = "ann"};
  sandbox.egress = {"pypi.org"};
  Object free = member(0);
  EXPECT_THROW((void)patched(free, take_patch(free, sandbox, std::nullopt)), json::exception);
  free.json["metadata"]["labels"][labels::kNetwork] = "egress";
  const Object taken = patched(free, take_patch(free, sandbox, std::nullopt));
  EXPECT_EQ(taken.label(labels::kNetwork), "egress");
  EXPECT_EQ(taken.annotation(kEgressAnnotation), R"(["pypi.org"])");
}

TEST(TakePatch, LeavesNoOwnerWhereThereIsNoRecord) {
  const SandboxSpec sandbox{.name = "box", .owner = "ann"};
  const Object free = member(0);
  const Object taken = patched(free, take_patch(free, sandbox, std::nullopt));
  EXPECT_EQ(taken.json["metadata"]["ownerReferences"], json::array());
  EXPECT_TRUE(was_taken_for(taken, sandbox, std::nullopt));
}

TEST(TakePatch, FailsWhenThePodIsFreeNoMoreOrIsAnotherOne) {
  const SandboxSpec sandbox{.name = "box", .owner = "ann"};
  const Object free = member(0);
  const json take = take_patch(free, sandbox, std::nullopt);
  const json leave = leave_patch(free);
  const Object taken = patched(free, take);
  EXPECT_THROW((void)taken.json.patch(take), json::exception);
  EXPECT_THROW((void)taken.json.patch(leave), json::exception);
  EXPECT_THROW((void)patched(free, leave).json.patch(take), json::exception);
  Object successor = free;
  successor.json["metadata"]["uid"] = "another";
  EXPECT_THROW((void)successor.json.patch(take), json::exception);
}

}  // namespace
}  // namespace skiff::container
