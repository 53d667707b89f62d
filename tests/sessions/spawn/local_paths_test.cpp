#include "sessions/spawn/local_paths.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

TEST(LocalPaths, KnowsOnlyNotedPaths) {
  LocalPaths places;
  places.note("/a:/b");
  EXPECT_TRUE(places.knows("/a:/b"));
  EXPECT_FALSE(places.knows("/a"));
  for (int i = 0; i < 100; ++i) places.note(std::to_string(i));
  EXPECT_FALSE(places.knows("/a:/b")) << "bounded";
}

TEST(LocalPaths, AreThoseOnFileSystemsOfThisMachine) {
  EXPECT_TRUE(LocalPaths::are_local("/proc:/sys"));
  EXPECT_TRUE(LocalPaths::are_local("/proc/no/such:/proc/uptime")) << "it lies where the next one above it does";
  EXPECT_FALSE(LocalPaths::are_local("/proc:.")) << "relative to what is not known";
  EXPECT_FALSE(LocalPaths::are_local("/proc:")) << "an empty part means the working directory";
  EXPECT_FALSE(LocalPaths::are_local(""));
  EXPECT_FALSE(LocalPaths::are_local("/proc:/dev/pts")) << "any other kind is not known to answer at once";
}

}  // namespace
}  // namespace skiff::sessions
