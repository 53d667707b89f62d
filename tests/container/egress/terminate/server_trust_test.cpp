#include "container/egress/terminate/server_trust.hpp"

#include <gtest/gtest.h>

#include "container/egress/terminate/authority.hpp"

namespace skiff::container::egress {
namespace {

TEST(ServerTrust, IsSharedByThoseWhoTrustTheSame) {
  ServerTrust trust;
  const auto plain = trust.with("");
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, *trust.with(""));
  const auto other = trust.with((*Authority::create({"a.org"}))->pem());
  ASSERT_TRUE(other);
  EXPECT_NE(*plain, *other);
  EXPECT_FALSE(trust.with("no certificate"));
}

TEST(ServerTrust, KeepsFew) {
  ServerTrust trust;
  const auto plain = *trust.with("");
  for (std::size_t i = 0; i < ServerTrust::kKept; ++i) EXPECT_TRUE(trust.with((*Authority::create({"a.org"}))->pem()));
  EXPECT_NE(plain, *trust.with("")) << "it was forgotten, and whoever still uses it goes on";
}

}  // namespace
}  // namespace skiff::container::egress
