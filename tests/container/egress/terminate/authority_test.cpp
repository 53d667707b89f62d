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

}  // namespace
}  // namespace skiff::container::egress
