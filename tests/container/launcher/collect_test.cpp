#include "container/launcher/collect.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(Collect, ASandboxHasOutlivedItsLeaseSomeTimeAfterItsEnd) {
  const WallTime now = wall_now();
  Sandbox sandbox;
  EXPECT_FALSE(has_outlived(sandbox, now));
  sandbox.expires_at = rfc3339(now + std::chrono::hours{1});
  EXPECT_FALSE(has_outlived(sandbox, now));
  sandbox.expires_at = rfc3339(now - std::chrono::seconds{30});
  EXPECT_FALSE(has_outlived(sandbox, now)) << "it may just be ending, and clocks differ";
  sandbox.expires_at = rfc3339(now - std::chrono::hours{1});
  EXPECT_TRUE(has_outlived(sandbox, now));
  sandbox.expires_at = "tomorrow";
  EXPECT_FALSE(has_outlived(sandbox, now));
}

}  // namespace
}  // namespace skiff::container
