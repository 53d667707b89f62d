#include "container/egress/terminate/authority.hpp"

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

TEST(Authority, SignsForItsHostsAlone) {
  auto made = Authority::create({"github.com", "api.example.com"});
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->pem().starts_with("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_FALSE((*made)->pem().contains("KEY"));
  EXPECT_EQ((*made)->server("evil.org").error().code, Errc::not_found);
  EXPECT_EQ((*made)->server("sub.github.com").error().code, Errc::not_found);
  const auto first = (*made)->server("github.com");
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, *(*made)->server("github.com"));
  EXPECT_NE(*first, *(*made)->server("api.example.com"));
}

TEST(Authority, IsAnotherOneForEachSandbox) {
  EXPECT_NE((*Authority::create({"a.org"}))->pem(), (*Authority::create({"a.org"}))->pem());
}

TEST(Authority, IsLoadedWithItsKey) {
  const auto made = *Authority::create({"a.org"});
  auto loaded = Authority::load(made->pem(), made->key_pem(), {"a.org"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->pem(), made->pem());
  EXPECT_TRUE((*loaded)->server("a.org"));
  EXPECT_EQ((*loaded)->server("b.org").error().code, Errc::not_found);
  const auto other = *Authority::create({"a.org"});
  EXPECT_FALSE(Authority::load(made->pem(), other->key_pem(), {"a.org"}));
  EXPECT_FALSE(Authority::load(made->key_pem(), made->pem(), {"a.org"}));
  EXPECT_FALSE(Authority::load("", "", {"a.org"}));
}

}  // namespace
}  // namespace skiff::container::egress
