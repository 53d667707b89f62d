#include "container/serve/keys/credential.hpp"

#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

TEST(Credential, IsAFieldOfItsOwnOrABearer) {
  EXPECT_EQ(presented_key({}), "");
  EXPECT_EQ(presented_key({{"X-API-KEY", "k"}}), "k");
  EXPECT_EQ(presented_key({{"Authorization", "bearer k"}}), "k");
  EXPECT_EQ(presented_key({{"X-API-Key", "k"}, {"Authorization", "Bearer k"}}), "k");
  // As E2B's SDKs name a user.
  EXPECT_EQ(presented_key({{"X-API-Key", "k"}, {"Authorization", "Basic dXNlcjo="}}), "k");
}

TEST(Credential, IsOneAlone) {
  EXPECT_FALSE(presented_key({{"X-API-Key", "k"}, {"Authorization", "Bearer other"}}));
  EXPECT_FALSE(presented_key({{"X-API-Key", "k"}, {"X-API-Key", "k"}}));
}

TEST(Credential, LeavesAuthorizationToTheApplicationWhereItsFieldIsThere) {
  EXPECT_EQ(key_field({{"X-API-Key", "k"}, {"Authorization", "Bearer other"}}), "k");
  EXPECT_EQ(key_field({{"Authorization", "Bearer other"}}), "");
  EXPECT_FALSE(key_field({{"X-API-Key", "k"}, {"X-API-Key", "k"}}));
}

}  // namespace
}  // namespace skiff::container::serve
