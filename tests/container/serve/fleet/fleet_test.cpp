#include "container/serve/fleet/fleet.hpp"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

using Fixture = FleetFixture;

CO_TEST(Fleet, WritesOnTheRecordWhatItHasToKnow) {
  Fixture all;
  auto made =
      co_await all.fleet.create(tenant_key("a"), {.env = {{"X", "1"}}, .labels = {{"u", "v"}}, .on_end = OnEnd::stop});
  CO_ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->is_new);
  const SandboxSpec& spec = all.tenants.hosted.last;
  EXPECT_EQ(spec.owner, "a");
  EXPECT_EQ(spec.pod.dialects, std::vector<std::string>{"e2b"});
  EXPECT_EQ(spec.env.at("SKIFF_E2B_TOKEN_SHA256"),
            sha256_hex(access_token("secret", "a", spec.name, spec.labels.at("serve.nonce"))));
  EXPECT_EQ(spec.labels.at("key.u"), "v");
  EXPECT_EQ(on_end(made->sandbox), OnEnd::stop);
}

CO_TEST(Fleet, LetsNobodySpeakToTheAgentByVariables) {
  Fixture all;
  const auto made = co_await all.fleet.create(tenant_key("a"), {.env = {{"SKIFF_ALLOW_UNAUTHENTICATED", "1"}}});
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::invalid_field);
  EXPECT_EQ(all.tenants.hosted.created, 0);
}

CO_TEST(Fleet, ShowsNobodyWhatIsAnothers) {
  Fixture all;
  auto made = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(made);
  const std::string id = made->sandbox.name;
  EXPECT_TRUE((co_await all.fleet.get("a", id)).has_value());
  for (const Errc code :
       {(co_await all.fleet.get("b", id)).error().code, (co_await all.fleet.stop("b", id)).error().code,
        (co_await all.fleet.remove("b", id)).error().code,
        (co_await all.fleet.start(tenant_key("b"), id, {})).error().code,
        (co_await all.fleet.extend("b", id, {})).error().code, (co_await all.fleet.endpoint("b", id, {})).error().code,
        (co_await all.fleet.wake("b", id)).error().code}) {
    EXPECT_EQ(code, Errc::sandbox_not_found);
  }
  EXPECT_TRUE((co_await all.fleet.list("b", {})).value().items.empty());
}

CO_TEST(Fleet, TakesTheTokenOfOneTenantsSandboxForNobodyElsesOfThatName) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a"), tenant_key("b")};
  for (const char* tenant : {"a", "b"}) {
    auto token = co_await all.fleet.access_token_of(tenant, "web", "0123456789abcdef");
    CO_ASSERT_TRUE(token);
    for (const bool is_traffic : {false, true}) {
      const std::string shown = is_traffic ? traffic_token(*token, "0123456789abcdef") : *token;
      auto found = co_await all.fleet.shown_token("web", shown);
      CO_ASSERT_TRUE(found && *found);
      EXPECT_EQ((*found)->tenant, tenant);
      EXPECT_EQ((*found)->access_token, *token);
      EXPECT_EQ((*found)->is_traffic, is_traffic);
      auto other = co_await all.fleet.shown_token("other", shown);
      CO_ASSERT_TRUE(other);
      EXPECT_FALSE(other->has_value());
    }
  }
}

CO_TEST(Fleet, MakesOneForOneIdempotencyKeyOfATenant) {
  Fixture all;
  auto first = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k", .request = "r"});
  auto again = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k", .request = "r"});
  CO_ASSERT_TRUE(first && again);
  EXPECT_TRUE(first->is_new && !again->is_new);
  EXPECT_EQ(first->sandbox.name, again->sandbox.name);
  EXPECT_EQ(all.tenants.hosted.created, 1);
  const auto other = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k", .request = "other"});
  CO_ASSERT_TRUE(!other);
  EXPECT_EQ(other.error().code, Errc::sandbox_conflict);
  auto stranger = co_await all.fleet.create(tenant_key("b"), {.idempotency_key = "k", .request = "r"});
  CO_ASSERT_TRUE(stranger);
  EXPECT_NE(stranger->sandbox.name, first->sandbox.name);
}

CO_TEST(Fleet, MakesANameOnceForATenant) {
  Fixture all;
  auto first = co_await all.fleet.create(tenant_key("a"), {.name = "demo"});
  CO_ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->sandbox.name, "demo");
  const auto again = co_await all.fleet.create(tenant_key("a"), {.name = "demo"});
  const auto others = co_await all.fleet.create(tenant_key("b"), {.name = "demo", .get_or_create = true});
  CO_ASSERT_TRUE(!again && !others);
  EXPECT_EQ(again.error().code, Errc::sandbox_conflict);
  EXPECT_EQ(others.error().code, Errc::sandbox_conflict);
  auto had = co_await all.fleet.create(tenant_key("a"), {.name = "demo", .get_or_create = true});
  CO_ASSERT_TRUE(had);
  EXPECT_FALSE(had->is_new);
  EXPECT_EQ(all.tenants.hosted.created, 1);
}

CO_TEST(Fleet, MakesANameAnewWhenWhatHadItIsOver) {
  Fixture all;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "demo"})).has_value());
  all.tenants.hosted.records["demo"].state = SandboxState::ended;
  auto again = co_await all.fleet.create(tenant_key("a"), {.name = "demo"});
  CO_ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_new);
}

CO_TEST(Fleet, StartsWhatSleepsForWhoeverWantsItByName) {
  Fixture all;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "demo"})).has_value());
  auto& state = all.tenants.hosted.records["demo"].state;
  for (const SandboxState asleep : {SandboxState::stopped, SandboxState::failed, SandboxState::creating}) {
    state = asleep;
    auto had = co_await all.fleet.create(tenant_key("a"), {.name = "demo", .get_or_create = true});
    CO_ASSERT_TRUE(had) << had.error().message;
    EXPECT_EQ(state, SandboxState::running);
  }
  // There must be room for it.
  state = SandboxState::stopped;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {})).has_value());
  const auto refused = co_await all.fleet.create(tenant_key("a", 1), {.name = "demo", .get_or_create = true});
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(state, SandboxState::stopped);
}

CO_TEST(Fleet, LetsNobodyChooseAnIdThatItCouldMake) {
  Fixture all;
  const std::string made = (co_await all.fleet.create(tenant_key("a"), {})).value().sandbox.name;
  EXPECT_TRUE(is_made_id(made));
  const std::string keyed = (co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k"})).value().sandbox.name;
  EXPECT_TRUE(is_made_id(keyed));
  for (const std::string& name : {made, keyed, std::string{"s0123456789abcdefghij"}}) {
    const auto refused = co_await all.fleet.create(tenant_key("b"), {.name = name, .get_or_create = true});
    CO_ASSERT_TRUE(!refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_field) << name;
  }
}

CO_TEST(Fleet, RemovesOnlyTheOneThatIsMeant) {
  Fixture all;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "demo", .idempotency_key = "k"})).has_value());
  const RemovalPrecondition others[] = {{.uid = "id-of-an-earlier-one"},
                                        {.state = SandboxState::ended},
                                        {.idempotency_key = "another"},
                                        {.uid = "id-demo", .state = SandboxState::stopped}};
  for (const RemovalPrecondition& other : others) {
    const auto refused = co_await all.fleet.remove("a", "demo", {}, other);
    CO_ASSERT_TRUE(!refused);
    EXPECT_EQ(refused.error().code, Errc::sandbox_not_found);
  }
  EXPECT_TRUE(all.tenants.hosted.records.contains("demo"));
  const RemovalPrecondition precondition{.uid = "id-demo", .state = SandboxState::running, .idempotency_key = "k"};
  EXPECT_TRUE((co_await all.fleet.remove("a", "demo", {}, precondition)).has_value());
  EXPECT_FALSE(all.tenants.hosted.records.contains("demo"));
}

CO_TEST(Fleet, KnowsOwnersWithinATenant) {
  Fixture all;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "mine", .owner = "me@here"})).has_value());
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "hers"})).has_value());
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("b"), {.name = "far", .owner = "me@here"})).has_value());
  const SandboxPage mine = (co_await all.fleet.list("a", {.owner = "me@here"})).value();
  CO_ASSERT_TRUE(mine.items.size() == 1U);
  EXPECT_EQ(mine.items.front().name, "mine");
  EXPECT_EQ(mine.items.front().owner, "a") << "the tenant, whatever a client says";
  EXPECT_EQ((co_await all.fleet.list("a", {})).value().items.size(), 2U);
}

CO_TEST(Fleet, MakesItAgainWhenTheFirstOneIsOver) {
  Fixture all;
  auto first = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k"});
  CO_ASSERT_TRUE(first);
  all.tenants.hosted.records[first->sandbox.name].state = SandboxState::ended;
  auto again = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "k"});
  CO_ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_new);
}

CO_TEST(Fleet, GoesOnWithWhatWasLeftHalfMade) {
  Fixture all;
  auto first = co_await all.fleet.create(tenant_key("a", 1), {.idempotency_key = "k"});
  CO_ASSERT_TRUE(first);
  Sandbox& left = all.tenants.hosted.records[first->sandbox.name];
  left.state = SandboxState::failed;
  auto again = co_await all.fleet.create(tenant_key("a", 1), {.idempotency_key = "k"});
  CO_ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->sandbox.state, SandboxState::running);
  EXPECT_FALSE(again->is_new);
  // It needs a place as a new one does.
  left.state = SandboxState::failed;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a", 1), {})).has_value());
  EXPECT_EQ((co_await all.fleet.create(tenant_key("a", 1), {.idempotency_key = "k"})).error().code,
            Errc::too_many_sandboxes);
}

CO_TEST(Fleet, StopsItsOwnAgainWhenAnotherProcessHasStartedTheLastOne) {
  Fixture all;
  auto other = co_await all.fleet.create(tenant_key("a", 1), {});
  CO_ASSERT_TRUE(other);
  auto& records = all.tenants.hosted.records;
  records[other->sandbox.name].state = SandboxState::stopped;
  auto own = co_await all.fleet.create(tenant_key("a", 1), {});
  CO_ASSERT_TRUE(own);
  records[own->sandbox.name].state = SandboxState::stopped;
  all.tenants.hosted.appears_meanwhile = other->sandbox.name;
  const auto refused = co_await all.fleet.start(tenant_key("a", 1), own->sandbox.name, {});
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(records[own->sandbox.name].state, SandboxState::stopped);
  EXPECT_EQ(records[other->sandbox.name].state, SandboxState::running);
}

CO_TEST(Fleet, DialsNoPortOfWhatWasMadeElsewhere) {
  Fixture all;
  auto& records = all.tenants.hosted.records;
  auto made = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(made);
  EXPECT_EQ((co_await all.fleet.dial("a", made->sandbox.name, 49983)).error().code, Errc::io_error);
  records["box"] = made->sandbox;
  records["box"].labels.clear();
  EXPECT_EQ((co_await all.fleet.dial("a", "box", 49983)).error().code, Errc::not_supported);
  EXPECT_EQ(all.tenants.hosted.dialled, 1);
}

CO_TEST(Fleet, KeepsWithinTheLimitOfAKey) {
  Fixture all;
  CO_ASSERT_TRUE((co_await all.fleet.create(tenant_key("a", 1), {})).has_value());
  const auto refused = co_await all.fleet.create(tenant_key("a", 1), {});
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(all.tenants.hosted.created, 1);
}

CO_TEST(Fleet, GivesUpItsOwnWhenAnotherProcessHasTakenTheLastPlace) {
  Fixture all;
  all.tenants.hosted.appears_meanwhile = "sother";
  const auto refused = co_await all.fleet.create(tenant_key("a", 1), {});
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(all.tenants.hosted.records.size(), 1U);
  EXPECT_TRUE(all.tenants.hosted.records.contains("sother"));
}

CO_TEST(Fleet, WakesOnlyWhatIsToBeWokenAndWhoseKeyIsThere) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a")};
  auto wakes = co_await all.fleet.create(tenant_key("a"), {});
  auto sleeps = co_await all.fleet.create(tenant_key("a"), {.wakes = false});
  CO_ASSERT_TRUE(wakes && sleeps);
  auto& records = all.tenants.hosted.records;
  for (auto& [name, one] : records) one.state = SandboxState::stopped;
  EXPECT_TRUE((co_await all.fleet.wake("a", wakes->sandbox.name)).has_value());
  EXPECT_EQ(records[wakes->sandbox.name].state, SandboxState::running);
  EXPECT_EQ((co_await all.fleet.wake("a", sleeps->sandbox.name)).error().code, Errc::sandbox_not_running);
  EXPECT_EQ(records[sleeps->sandbox.name].state, SandboxState::stopped);
}

CO_TEST(Fleet, WakesNothingWhoseKeyIsOverOrGone) {
  Fixture all;
  ApiKey over = tenant_key("a");
  over.name = "over";
  ApiKey gone = tenant_key("a");
  gone.name = "gone";
  over.expires_ms = 1;
  // Before anything is asked for: they are believed for a second.
  all.store.ring.keys = {tenant_key("a"), over};
  auto of_over = co_await all.fleet.create(over, {});
  auto of_gone = co_await all.fleet.create(gone, {});
  CO_ASSERT_TRUE(of_over && of_gone);
  auto& records = all.tenants.hosted.records;
  for (auto& [name, one] : records) one.state = SandboxState::stopped;
  for (const std::string& id : {of_over->sandbox.name, of_gone->sandbox.name}) {
    const auto woken = co_await all.fleet.wake("a", id);
    CO_ASSERT_TRUE(!woken);
    EXPECT_EQ(woken.error().code, Errc::sandbox_not_running);
    EXPECT_EQ(records[id].state, SandboxState::stopped);
    EXPECT_TRUE((co_await all.fleet.start(tenant_key("a"), id, {})).has_value()) << "another key of the tenant may";
  }
}

CO_TEST(Fleet, WakesWhatAnAccountOfTheClusterHasMade) {
  Fixture all;
  ApiKey account = tenant_key("a");
  account.name = "system:serviceaccount:a:runner";
  auto made = co_await all.fleet.create(account, {});
  CO_ASSERT_TRUE(made);
  Sandbox& one = all.tenants.hosted.records[made->sandbox.name];
  one.state = SandboxState::stopped;
  EXPECT_TRUE((co_await all.fleet.wake("a", one.name)).has_value());
  EXPECT_EQ(one.state, SandboxState::running);
}

CO_TEST(Fleet, SweepsWhatIsOverAndNothingElse) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a")};
  auto over = co_await all.fleet.create(tenant_key("a"), {});
  auto kept = co_await all.fleet.create(tenant_key("a"), {.on_end = OnEnd::stop});
  auto runs = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(over && kept && runs);
  auto& records = all.tenants.hosted.records;
  records[over->sandbox.name].state = SandboxState::ended;
  records[kept->sandbox.name].state = SandboxState::ended;
  EXPECT_EQ((co_await all.fleet.get("a", over->sandbox.name)).error().code, Errc::sandbox_not_found);
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_EQ(records.size(), 2U);
  EXPECT_FALSE(records.contains(over->sandbox.name));
}

CO_TEST(Fleet, KeepsWhatItsHostHasBrokenUntilItsLeaseIsOver) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a")};
  auto made = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(made);
  auto& records = all.tenants.hosted.records;
  Sandbox& broken = records[made->sandbox.name];
  broken.was_broken = true;
  for (const SandboxState state : {SandboxState::ended, SandboxState::failed, SandboxState::creating}) {
    broken.state = state;
    EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
    EXPECT_EQ(records.size(), 1U) << state_word(state);
    EXPECT_TRUE((co_await all.fleet.get("a", broken.name)).has_value()) << state_word(state);
  }
  broken.expires_at = "2001-01-01T00:00:00Z";
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_TRUE(records.empty());
}

CO_TEST(Fleet, SweepsWhatWasLeftHalfMadeAndNobodyCanAskForAgain) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a")};
  auto lost = co_await all.fleet.create(tenant_key("a"), {});
  auto named = co_await all.fleet.create(tenant_key("a"), {.name = "box"});
  auto repeated = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "once"});
  auto used = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(lost && named && repeated && used);
  auto& records = all.tenants.hosted.records;
  for (auto& [name, one] : records) one.was_never_up = true;
  records[used->sandbox.name].was_never_up = false;
  // It runs: it came up after whoever made it was killed, and nobody knows its name.
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_EQ(records.size(), 3U);
  EXPECT_FALSE(records.contains(lost->sandbox.name));
  auto again = co_await all.fleet.create(tenant_key("a"), {.idempotency_key = "once"});
  EXPECT_TRUE(again && again->sandbox.id == repeated->sandbox.id);
}

CO_TEST(Fleet, KeepsWhatCameUpAfterItsIdWasTold) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a")};
  auto up = co_await all.fleet.create(tenant_key("a"), {.is_told_at_once = true});
  auto waits = co_await all.fleet.create(tenant_key("a"), {.is_told_at_once = true});
  CO_ASSERT_TRUE(up && waits);
  auto& records = all.tenants.hosted.records;
  for (auto& [name, one] : records) one.was_never_up = true;
  records[waits->sandbox.name].state = SandboxState::creating;
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_TRUE(records.contains(up->sandbox.name)) << "whoever knows its id uses it";
  EXPECT_FALSE(records.contains(waits->sandbox.name)) << "nobody is making it";
  EXPECT_EQ(all.tenants.hosted.sought, 1) << "so that it is known as one that was up";
}

CO_TEST(Fleet, SweepsBesideATenantThatCanNotBeLookedAt) {
  Fixture all;
  all.store.ring.keys = {tenant_key("a"), tenant_key("b")};
  auto made = co_await all.fleet.create(tenant_key("b"), {});
  CO_ASSERT_TRUE(made);
  all.tenants.hosted.records[made->sandbox.name].state = SandboxState::ended;
  all.tenants.away = "a";
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_TRUE(all.tenants.hosted.records.empty());
}

CO_TEST(Fleet, LosesNoFilesInSilence) {
  Fixture all;
  all.tenants.hosted.kind = "pod";
  all.store.ring.keys = {tenant_key("a")};
  auto refused = co_await all.fleet.create(tenant_key("a"), {.on_end = OnEnd::stop});
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::not_supported);
  EXPECT_EQ(all.tenants.hosted.created, 0);
  auto made = co_await all.fleet.create(tenant_key("a"), {});
  CO_ASSERT_TRUE(made);
  Sandbox& one = all.tenants.hosted.records[made->sandbox.name];
  EXPECT_EQ((co_await all.fleet.stop("a", one.name)).error().code, Errc::not_supported);
  // Its Pod is gone: who passes by gets no empty one, and its owner does if he asks for it.
  one.state = SandboxState::failed;
  EXPECT_EQ((co_await all.fleet.wake("a", one.name)).error().code, Errc::sandbox_not_running);
  EXPECT_TRUE((co_await all.fleet.start(tenant_key("a"), one.name, {})).has_value());
}

CO_TEST(Fleet, KeepsAsleepWhatHasAVolume) {
  Fixture all;
  SandboxSpec base;
  base.pod.volumes = {"1Gi:/workspace"};
  all.templates = Templates::create(base, {}).value();
  all.tenants.hosted.kind = "pod";
  EXPECT_TRUE((co_await all.fleet.create(tenant_key("a"), {.on_end = OnEnd::stop})).has_value());
  base.pod.volumes = {"secret/keys:/keys"};
  all.templates = Templates::create(base, {}).value();
  EXPECT_EQ((co_await all.fleet.create(tenant_key("a"), {.on_end = OnEnd::stop})).error().code, Errc::not_supported);
}

}  // namespace
}  // namespace skiff::container::serve
