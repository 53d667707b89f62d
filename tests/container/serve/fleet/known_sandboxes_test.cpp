#include "container/serve/fleet/known_sandboxes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

struct Flagged final : Freshness {
  explicit Flagged(std::shared_ptr<bool> flag) : same{std::move(flag)} {}
  [[nodiscard]] bool holds() noexcept override { return *same; }
  std::shared_ptr<bool> same;
};

/// Counts how often it is asked.
class CountingDriver final : public fakes::RefusingDriver {
 public:
  void put(const std::string& id, const std::string& owner) {
    Sandbox& one = boxes[id];
    one.name = id;
    one.id = "id-" + id;
    one.owner = owner;
    one.state = SandboxState::running;
    one.address = "http://127.0.0.1:1";
    same = std::make_shared<bool>(true);
  }
  /// Whatever has changed, who can tell is told.
  void tell() { *std::exchange(same, std::make_shared<bool>(true)) = false; }

  std::unique_ptr<Freshness> freshness(const std::string&) override {
    if (!tells) return nullptr;
    return std::make_unique<Flagged>(same);
  }
  Task<Result<Sandbox>> get(std::string name) override {
    ++gets;
    if (is_away) co_return fail(Errc::cluster_unavailable, "away");
    const auto found = boxes.find(name);
    if (found == boxes.end()) co_return std::unexpected{no_such_sandbox(name)};
    co_return found->second;
  }
  Task<Result<Endpoint>> endpoint(std::string, TokenGrant grant) override {
    grants.push_back(grant);
    if (is_away) co_return fail(Errc::cluster_unavailable, "away");
    if (removed_meanwhile) {
      boxes.clear();
      tell();
    }
    Endpoint made;
    made.token = [text = grant.scope + " " + std::to_string(grants.size())] { return Result<std::string>{text}; };
    co_return made;
  }
  Task<Result<>> stop(std::string name, Removal) override {
    boxes[name].state = SandboxState::stopped;
    co_return Result<>{};
  }
  Task<Result<bool>> remove(std::string name, Removal) override { co_return boxes.erase(name) > 0; }

  std::map<std::string, Sandbox> boxes;
  std::shared_ptr<bool> same = std::make_shared<bool>(true);
  std::vector<TokenGrant> grants;
  bool tells = true;
  bool removed_meanwhile = false;
  bool is_away = false;
  int gets = 0;
};

class CountedTenants final : public Tenants {
 public:
  Task<Result<Driver*>> driver(std::string) override { co_return &hosted; }
  CountingDriver hosted;
};

class NoKeys final : public KeyStore {
 public:
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override { co_return KeyRing{.token_secret = "secret", .keys = {}}; }
  Task<Result<>> change(std::function<Result<>(KeyRing&)>) override { co_return Result<>{}; }
};

struct KnownFixture {
  KnownFixture() { hosted.put("box", "a"); }
  static Task<std::string> token(KnownFixture* self, TokenGrant grant, Look look = Look::known) {
    auto found = co_await self->known.agent({.tenant = "a", .sandbox = "box"}, std::move(grant), look);
    co_return found ? found->token().value() : std::string{name(found.error().code)};
  }
  static Task<std::string> run(KnownFixture* self, std::string tenant = "a") {
    auto found = co_await self->known.run_of({.tenant = std::move(tenant), .sandbox = "box"});
    co_return found ? *found : std::string{name(found.error().code)};
  }
  static Task<std::string> nonce(KnownFixture* self, std::string id) {
    auto found = co_await self->known.nonce({.tenant = "a", .sandbox = std::move(id)});
    co_return found ? "there" : std::string{name(found.error().code)};
  }
  CountedTenants tenants;
  CountingDriver& hosted = tenants.hosted;
  NoKeys store;
  KeyCache keys{&store};
  Templates templates = Templates::create({.name = {}}, {}).value();
  Fleet fleet{&tenants, &keys, &templates};
  KnownSandboxes known{&fleet};
};

const TokenGrant kADay{.scope = "ports", .lifetime = 24h};

CO_TEST(KnownSandboxes, AreAskedForOnce) {
  KnownFixture all;
  const std::string run = co_await KnownFixture::run(&all);
  const std::string first = co_await KnownFixture::token(&all, kADay);
  EXPECT_EQ(first, "ports 1");
  const int gets = all.hosted.gets;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(co_await KnownFixture::run(&all), run);
    EXPECT_EQ(co_await KnownFixture::token(&all, kADay), first);
    EXPECT_EQ(co_await KnownFixture::token(&all, kADay, Look::anew), first) << "it would have told";
  }
  EXPECT_EQ(all.hosted.gets, gets);
  EXPECT_EQ(all.hosted.grants.size(), 1u);
}

CO_TEST(KnownSandboxes, TokensOutliveTheRequestAndHardlyMore) {
  KnownFixture all;
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
  EXPECT_EQ(all.hosted.grants[0].lifetime, kADay.lifetime + KnownSandboxes::kTokenUse);
  EXPECT_EQ(co_await KnownFixture::token(&all, {.scope = "read", .lifetime = 24h}), "read 2");
  EXPECT_EQ(co_await KnownFixture::token(&all, {.scope = "ports", .lifetime = 1h}), "ports 3") << "not a day's";
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
  EXPECT_EQ(co_await KnownFixture::token(&all, {.scope = "ports", .lifetime = 24h + 50s}), "ports 1");
  EXPECT_EQ(co_await KnownFixture::token(&all, {.scope = "ports", .lifetime = 24h + 61s}), "ports 4") << "it would end";
  for (int hour = 2; hour < 40; ++hour) {
    const TokenGrant grant{.scope = "ports", .lifetime = std::chrono::hours{hour}};
    const std::string token = co_await KnownFixture::token(&all, grant);
    EXPECT_EQ(co_await KnownFixture::token(&all, grant), token);
  }
}

CO_TEST(KnownSandboxes, AreSeenToGoAtOnceWhereTheDriverTells) {
  KnownFixture all;
  EXPECT_NE(co_await KnownFixture::run(&all), "");
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
  // Another process does it.
  all.hosted.boxes["box"].state = SandboxState::stopped;
  all.hosted.tell();
  EXPECT_EQ(co_await KnownFixture::run(&all), "sandbox_not_running");
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "sandbox_not_running");
  all.hosted.put("box", "a");
  all.hosted.boxes["box"].id = "another";
  EXPECT_EQ(co_await KnownFixture::run(&all), "another http://127.0.0.1:1");
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 2") << "the token was the other one's";
  all.hosted.boxes.clear();
  all.hosted.tell();
  EXPECT_EQ(co_await KnownFixture::run(&all), "sandbox_not_found");
  EXPECT_EQ(all.known.size(), 0u);
}

CO_TEST(KnownSandboxes, AreSeenToGoAtOnceWhereThisProcessDoesIt) {
  for (const bool tells : {true, false}) {
    KnownFixture all;
    all.hosted.tells = tells;
    EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
    CO_ASSERT_TRUE((co_await all.fleet.stop("a", "box")).has_value());
    if (tells) all.hosted.tell();
    EXPECT_EQ(co_await KnownFixture::run(&all), "sandbox_not_running");
    all.hosted.put("box", "a");
    EXPECT_NE(co_await KnownFixture::run(&all), "");
    CO_ASSERT_TRUE((co_await all.fleet.remove("a", "box")).has_value());
    if (tells) all.hosted.tell();
    EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "sandbox_not_found");
  }
}

CO_TEST(KnownSandboxes, AreLookedAtAgainWhereNothingTells) {
  KnownFixture all;
  all.hosted.tells = false;
  const std::string run = co_await KnownFixture::run(&all);
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay, Look::anew), "ports 2") << "who connects is not to meet another";
  all.hosted.boxes.clear();
  while (co_await KnownFixture::run(&all) == run) co_await test::pause(10ms);
  EXPECT_EQ(co_await KnownFixture::run(&all), "sandbox_not_found");
}

CO_TEST(KnownSandboxes, ThatAreNotThereAreAskedForOnce) {
  KnownFixture all;
  const int before = all.hosted.gets;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(co_await KnownFixture::nonce(&all, "none"), "sandbox_not_found");
  EXPECT_LE(all.hosted.gets - before, 2) << "a look holds for a second";
  // Whatever this process changes is looked at anew.
  (void)co_await all.fleet.remove("a", "none");
  all.hosted.put("none", "a");
  EXPECT_EQ(co_await KnownFixture::nonce(&all, "none"), "there");
  // A request for the sandbox itself is answered from the host, as another process may have created it.
  EXPECT_EQ(co_await KnownFixture::run(&all, "b"), "sandbox_not_found");
  all.hosted.boxes["box"].owner = "b";
  EXPECT_NE(co_await KnownFixture::run(&all, "b"), "sandbox_not_found");
}

CO_TEST(KnownSandboxes, ThatAreNotThereAreLookedForAgain) {
  KnownFixture all;
  all.hosted.boxes.clear();
  EXPECT_EQ(co_await KnownFixture::nonce(&all, "box"), "sandbox_not_found");
  all.hosted.put("box", "a");
  while (co_await KnownFixture::nonce(&all, "box") != "there") co_await test::pause(10ms);
}

CO_TEST(KnownSandboxes, GoOnWhileTheirHostIsAway) {
  KnownFixture all;
  all.hosted.tells = false;
  all.hosted.put("other", "a");
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1");
  const std::string run = co_await KnownFixture::run(&all);
  all.hosted.is_away = true;
  // The answers are old after this pause.
  co_await test::pause(KnownSandboxes::kFresh);
  EXPECT_EQ(co_await KnownFixture::run(&all), run);
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay, Look::anew), "ports 1");
  const int gets = all.hosted.gets;
  EXPECT_EQ(co_await KnownFixture::run(&all), run);
  EXPECT_EQ(all.hosted.gets, gets) << "it is not asked for each request";
  EXPECT_EQ(co_await KnownFixture::token(&all, {.scope = "read", .lifetime = 24h}), "cluster_unavailable");
  const auto unknown = co_await all.known.run_of({.tenant = "a", .sandbox = "other"});
  CO_ASSERT_TRUE(!unknown);
  EXPECT_EQ(unknown.error().code, Errc::cluster_unavailable);
  // An answer from before a change by this process is not used.
  all.known.forget("a", "box");
  EXPECT_EQ(co_await KnownFixture::run(&all), "cluster_unavailable");
}

CO_TEST(KnownSandboxes, AreTheirTenantsAlone) {
  KnownFixture all;
  EXPECT_NE(co_await KnownFixture::run(&all, "a"), "sandbox_not_found");
  EXPECT_EQ(co_await KnownFixture::run(&all, "b"), "sandbox_not_found");
  EXPECT_EQ(co_await KnownFixture::run(&all, "b"), "sandbox_not_found");
}

CO_TEST(KnownSandboxes, AreNotKeptWhenTheyChangeMeanwhile) {
  KnownFixture all;
  all.hosted.removed_meanwhile = true;
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "ports 1") << "so it was when it was asked for";
  EXPECT_EQ(co_await KnownFixture::token(&all, kADay), "sandbox_not_found");
}

CO_TEST(KnownSandboxes, ThatEndElsewhereDoNotPileUp) {
  KnownFixture all;
  for (int times = 0; times < 200; ++times) {
    // Another process makes and removes it.
    const std::string id = "passing-" + std::to_string(times * 7919 % 200);
    all.hosted.put(id, "a");
    EXPECT_EQ(co_await KnownFixture::nonce(&all, id), "there");
    all.hosted.boxes.erase(id);
    all.hosted.tell();
  }
  EXPECT_LE(all.known.size(), 2u);
}

CO_TEST(KnownSandboxes, AreNotMoreThanTheirLimit) {
  KnownFixture all;
  for (std::size_t i = 0; i < KnownSandboxes::kMost + 10; ++i) {
    const std::string id = "box-" + std::to_string(i);
    const auto same = all.hosted.same;
    all.hosted.put(id, "a");
    all.hosted.same = same;
    auto run = co_await all.known.run_of({.tenant = "a", .sandbox = id});
    EXPECT_TRUE(run.has_value());
    EXPECT_NE(co_await KnownFixture::run(&all), "");
  }
  EXPECT_EQ(all.known.size(), KnownSandboxes::kMost);
  const int gets = all.hosted.gets;
  EXPECT_NE(co_await KnownFixture::run(&all), "");
  EXPECT_EQ(all.hosted.gets, gets) << "what is used is known";
}

}  // namespace
}  // namespace skiff::container::serve
