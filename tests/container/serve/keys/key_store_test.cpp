#include "container/serve/keys/key_store.hpp"

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

/// Counts how often it is asked, and can be away.
class CountingStore final : public KeyStore {
 public:
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override {
    ++reads;
    if (is_away) co_return fail(Errc::io_error, "away");
    co_return ring;
  }
  Task<Result<>> change(std::function<Result<>(KeyRing&)> edit) override { co_return edit(ring); }

  KeyRing ring{.token_secret = "s", .keys = {}};
  int reads = 0;
  bool is_away = false;
};

CO_TEST(KeyCache, AsksOnceForManyRequests) {
  CountingStore store;
  KeyCache cache{&store};
  for (int i = 0; i < 10; ++i) CO_ASSERT_TRUE((co_await cache.current()).has_value());
  EXPECT_EQ(store.reads, 1);
}

CO_TEST(KeyCache, IsNotMadeToAskByStrangers) {
  CountingStore store;
  KeyCache cache{&store};
  TaskGroup strangers{executor};
  for (int i = 0; i < 10; ++i) {
    strangers.spawn("stranger", [](KeyCache* of) -> Task<> {
      EXPECT_EQ((co_await of->find("wrong")).error().code, Errc::unauthenticated);
    }(&cache));
  }
  co_await strangers.join();
  EXPECT_LT(store.reads, 10);
}

CO_TEST(KeyCache, KnowsAKeyThatWasMadeJustNow) {
  CountingStore store;
  KeyCache cache{&store};
  CO_ASSERT_TRUE((co_await cache.current()).has_value());
  store.ring.keys = {{.name = "k",
                      .sha256 = sha256_hex("new"),
                      .tenant = "t",
                      .scopes = {KeyScope::use},
                      .created_at = {},
                      .expires_ms = {}}};
  EXPECT_TRUE((co_await cache.find("new")).has_value());
  EXPECT_EQ(store.reads, 2);
}

/// Its answers say what there was when it was asked, and come when they are let go.
class HeldStore final : public KeyStore {
 public:
  explicit HeldStore(Executor executor) : let_go{executor} {}
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override {
    ++reads;
    const KeyRing seen = ring;
    if (holds) co_await let_go.wait();
    co_return seen;
  }
  Task<Result<>> change(std::function<Result<>(KeyRing&)> edit) override { co_return edit(ring); }

  KeyRing ring{.token_secret = "s", .keys = {}};
  int reads = 0;
  bool holds = false;
  Event let_go;
};

Task<> look_for(KeyCache* cache, std::string key, bool* is_found) {
  *is_found = (co_await cache->find(std::move(key))).has_value();
}

CO_TEST(KeyCache, KnowsAKeyThatWasMadeWhileTheOthersWereRead) {
  HeldStore store{executor};
  KeyCache cache{&store};
  CO_ASSERT_TRUE((co_await cache.current()).has_value());
  store.holds = true;
  TaskGroup seekers{executor};
  bool wrong = true;
  bool made = false;
  seekers.spawn("wrong", look_for(&cache, "wrong", &wrong));
  while (store.reads < 2) co_await boost::asio::post(executor, use_task);
  store.ring.keys = {{.name = "k",
                      .sha256 = sha256_hex("new"),
                      .tenant = "t",
                      .scopes = {KeyScope::use},
                      .created_at = {},
                      .expires_ms = {}}};
  seekers.spawn("made", look_for(&cache, "new", &made));
  // Until it waits for that reading, too.
  for (int turns = 0; turns < 100; ++turns) co_await boost::asio::post(executor, use_task);
  store.holds = false;
  store.let_go.notify_all();
  co_await seekers.join();
  EXPECT_FALSE(wrong);
  EXPECT_TRUE(made);
}

CO_TEST(KeyCache, ReadsForThoseWhoWaitWhenTheFirstLeaves) {
  HeldStore store{executor};
  store.holds = true;
  KeyCache cache{&store};
  store.ring.keys = {{.name = "k",
                      .sha256 = sha256_hex("key"),
                      .tenant = "t",
                      .scopes = {KeyScope::use},
                      .created_at = {},
                      .expires_ms = {}}};
  TaskGroup leaves{executor};
  TaskGroup stays{executor};
  bool left = true;
  bool found = false;
  leaves.spawn("leaves", look_for(&cache, "key", &left));
  stays.spawn("stays", look_for(&cache, "key", &found));
  leaves.cancel();
  co_await leaves.join();
  store.holds = false;
  store.let_go.notify_all();
  co_await stays.join();
  EXPECT_TRUE(found);
  EXPECT_EQ(store.reads, 1);
}

CO_TEST(KeyCache, GoesOnWithWhatItKnowsWhileAHostIsSilent) {
  HeldStore store{executor};
  store.ring.keys = {{.name = "k",
                      .sha256 = sha256_hex("key"),
                      .tenant = "t",
                      .scopes = {KeyScope::use},
                      .created_at = {},
                      .expires_ms = {}}};
  KeyCache cache{&store};
  CO_ASSERT_TRUE((co_await cache.current()).has_value());
  store.holds = true;
  // The known keys are old after this pause.
  co_await pause(KeyCache::kFresh);
  EXPECT_TRUE((co_await cache.find("key")).has_value());
  const auto unknown = co_await cache.find("other");
  CO_ASSERT_TRUE(!unknown);
  EXPECT_EQ(unknown.error().code, Errc::cluster_unavailable) << "nobody can say that it is none";
  EXPECT_EQ(store.reads, 2) << "one that goes on is enough";
  co_await cache.stop();
}

CO_TEST(KeyCache, HoldsNoKeyLongerThanTheCallerMay) {
  CountingStore store;
  KeyCache cache{&store};
  ApiKey key{.name = "k",
             .sha256 = sha256_hex("key"),
             .tenant = "t",
             .scopes = {KeyScope::use},
             .created_at = {},
             .expires_ms = {}};
  store.ring.keys = {key};
  EXPECT_TRUE(co_await cache.holds(key));
  key.expires_ms = 1;
  EXPECT_FALSE(co_await cache.holds(key)) << "as for a session of the page, which ends before its key";
}

CO_TEST(KeyCache, FailsWhereThereNeverWasAnAnswer) {
  CountingStore store;
  store.is_away = true;
  KeyCache cache{&store};
  EXPECT_EQ((co_await cache.current()).error().code, Errc::io_error);
  EXPECT_EQ((co_await cache.find("any")).error().code, Errc::io_error);
  store.is_away = false;
  EXPECT_TRUE((co_await cache.current()).has_value());
}

}  // namespace
}  // namespace skiff::container::serve
