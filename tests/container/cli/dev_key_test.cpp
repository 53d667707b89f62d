#include "container/cli/dev_key.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

class StoreInMemory final : public serve::KeyStore {
 public:
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<serve::KeyRing>> read() override { co_return ring; }
  Task<Result<>> change(std::function<Result<>(serve::KeyRing&)> edit) override { co_return edit(ring); }

  serve::KeyRing ring{};
};

CO_TEST(DevKey, OpensTheServerUntilItIsRemoved) {
  StoreInMemory store;
  auto key = co_await DevKey::create(&store, "team");
  CO_ASSERT_TRUE(key.has_value());
  const auto found = serve::find_key(store.ring, key->text(), wall_now());
  CO_ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->tenant, "team");
  EXPECT_TRUE(found->allows(serve::KeyScope::create) && found->allows(serve::KeyScope::use));
  EXPECT_FALSE(found->allows(serve::KeyScope::admin));
  EXPECT_FALSE(store.ring.token_secret.empty());
  EXPECT_TRUE((co_await key->remove()).has_value());
  EXPECT_TRUE(store.ring.keys.empty());
  EXPECT_TRUE((co_await key->remove()).has_value()) << "somebody may have removed it before";
}

CO_TEST(DevKey, OfAKilledServerEndsAfterSevenDays) {
  StoreInMemory store;
  auto key = co_await DevKey::create(&store, "team");
  CO_ASSERT_TRUE(key.has_value());
  EXPECT_TRUE(serve::find_key(store.ring, key->text(), wall_now() + std::chrono::days{6}).has_value());
  EXPECT_FALSE(serve::find_key(store.ring, key->text(), wall_now() + std::chrono::days{8}).has_value());
}

CO_TEST(DevKey, TwoServersHaveAKeyEach) {
  StoreInMemory store;
  auto one = co_await DevKey::create(&store, "team");
  auto other = co_await DevKey::create(&store, "team");
  CO_ASSERT_TRUE(one.has_value() && other.has_value());
  EXPECT_TRUE((co_await one->remove()).has_value());
  EXPECT_FALSE(serve::find_key(store.ring, one->text(), wall_now()).has_value());
  EXPECT_TRUE(serve::find_key(store.ring, other->text(), wall_now()).has_value());
}

}  // namespace
}  // namespace skiff::container
