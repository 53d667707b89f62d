#include "runtime/dialects/kubebox/names.hpp"

#include <gtest/gtest.h>

#include "base/id.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

TEST(KubeboxNames, AValidSessionIdStays) {
  EXPECT_EQ(session_id("test-session"), "test-session");
  const std::string longest(64, 'a');
  EXPECT_EQ(session_id(longest), longest);
}

TEST(KubeboxNames, AnInvalidSessionIdIsHashed) {
  const std::string odd = session_id("user 7/ü");
  EXPECT_TRUE(is_valid_id(odd));
  EXPECT_EQ(session_id("user 7/ü"), odd);
  EXPECT_NE(session_id("user 8/ü"), odd);
  EXPECT_TRUE(is_valid_id(session_id(std::string(1000, 'a'))));
}

TEST(KubeboxNames, ProcessIdsGrow) {
  const std::uint64_t first = new_process_id();
  const std::uint64_t second = new_process_id();
  EXPECT_LT(first, second);
  EXPECT_LT(second, std::uint64_t{1} << 53U);  // a JSON integer that JavaScript has too
  EXPECT_EQ(process_of(command_id(first)), first);
  EXPECT_TRUE(is_valid_id(command_id(second)));
  for (const char* const other : {"c-1", "kubebox-", "kubebox-x", "kubebox-1x", "kubebox--1"}) {
    EXPECT_EQ(process_of(other), std::nullopt) << other;
  }
}

TEST(KubeboxNames, AStartedProcessHasNoReason) {
  EXPECT_EQ(why_not_started(sessions::ExitStatus{}), "");
}

}  // namespace
}  // namespace skiff::runtime::dialects::kubebox
