#include "container/cli/apparmor_profile.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using ::testing::HasSubstr;

TEST(AppArmorProfile, LetsAProgramOfRootHaveUserNamespaces) {
  // Every system has a program that only root can replace.
  const auto program = std::filesystem::canonical("/usr/bin/env");
  const auto profile = apparmor_profile(program);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(*profile, HasSubstr("profile skiff " + program.string() + " flags=(unconfined) {\n  userns,\n}\n"));
  EXPECT_TRUE(profile->starts_with("abi <abi/4.0>,\ninclude <tunables/global>\n"));
}

TEST(AppArmorProfile, IsRefusedForAProgramThatOthersCanReplace) {
  const test::TemporaryDirectory folder;  // below /tmp, to which everybody can write
  const auto program = folder.path() / "skiff";
  std::ofstream{program} << "any";
  const auto refused = apparmor_profile(program);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("`sudo install " + program.string()));
  EXPECT_THAT(refused.error().message, HasSubstr("`/usr/local/bin/skiff doctor --apparmor`"));
}

TEST(AppArmorProfile, NeedsTheProgram) {
  EXPECT_FALSE(apparmor_profile("/usr/bin/no-such-program"));
}

}  // namespace
}  // namespace skiff::container
