#include "container/sandbox/sandbox.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(SandboxName, IsWhatKubernetesTakes) {
  for (const char* name : {"a", "box", "box-2", "a1-b2-c3", "1box", "7", "018f2c6e-7b1a-7c52-9d3e-0a4b5c6d7e8f"})
    EXPECT_TRUE(check_name(name)) << name;
  EXPECT_TRUE(check_name(std::string(50, 'a')));
  for (const char* name : {"", "A", "-", "-box", "box-", "bo x", "b/x", "..", ".box", "b\xc3\xbc"}) {
    EXPECT_EQ(check_name(name).error().code, Errc::invalid_field) << name;
  }
  EXPECT_FALSE(check_name(std::string(51, 'a')));
}

TEST(SandboxName, IsMadeValidAndNew) {
  const std::string one = create_name("run-");
  EXPECT_TRUE(one.starts_with("run-"));
  EXPECT_TRUE(check_name(one));
  EXPECT_NE(one, create_name("run-"));
}

TEST(Sandbox, HasAWordForEachState) {
  EXPECT_EQ(state_word(SandboxState::creating), "creating");
  EXPECT_EQ(state_word(SandboxState::failed), "failed");
}

}  // namespace
}  // namespace skiff::container
