#include "container/cli/flags/removal_flags.hpp"

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

/// The removal that these arguments ask for.
Result<Removal> removal_of(std::vector<const char*> arguments) {
  RemovalFlags flags;
  SettingsTable table{flags.rows('t')};
  SKIFF_TRY_VOID(table.read_arguments(arguments, SettingsTable::Words::collected));
  return flags.removal();
}

TEST(RemovalFlags, AreGentleAndPatientWithoutAWord) {
  const auto how = removal_of({});
  ASSERT_TRUE(how.has_value());
  EXPECT_FALSE(how->force);
  EXPECT_FALSE(how->grace);
  EXPECT_TRUE(how->wait);
  EXPECT_EQ(how->patience, 2min) << "as the help says";
}

TEST(RemovalFlags, TakeWhatKubectlAndDockerTake) {
  auto how = removal_of({"-f", "--grace-period=7", "--wait=false"});
  ASSERT_TRUE(how.has_value());
  EXPECT_TRUE(how->force);
  EXPECT_EQ(how->grace, 7s);
  EXPECT_FALSE(how->wait);
  how = removal_of({"-t", "0", "--wait", "5m"});
  ASSERT_TRUE(how.has_value());
  EXPECT_EQ(how->grace, 0s);
  EXPECT_TRUE(how->wait);
  EXPECT_EQ(how->patience, 5min);
}

TEST(RemovalFlags, TakeAGraceAsSecondsOrAsATime) {
  for (const auto& [text, grace] : std::initializer_list<std::pair<const char*, std::chrono::seconds>>{
           {"5", 5s}, {"5s", 5s}, {"2m", 120s}, {"1500ms", 2s}, {"0", 0s}, {"86400", 24h}}) {
    const auto how = removal_of({"-t", text});
    ASSERT_TRUE(how.has_value()) << text;
    EXPECT_EQ(how->grace, grace) << text;
  }
  for (const char* text : {"-1", "s", "5 s", "soon", "25h", "86401", "99999999999999999999"}) {
    const auto how = removal_of({"-t", text});
    ASSERT_FALSE(how.has_value()) << text;
    EXPECT_EQ(how.error().field, "--grace-period");
    EXPECT_TRUE(how.error().message.ends_with(", or a number of seconds")) << how.error().message;
  }
}

TEST(RemovalFlags, SayWhatAWaitMustLookLike) {
  const auto how = removal_of({"--wait", "long"});
  ASSERT_FALSE(how.has_value());
  EXPECT_EQ(how.error().field, "--wait");
  EXPECT_TRUE(how.error().message.contains("\"long\"")) << how.error().message;
  EXPECT_TRUE(how.error().message.ends_with(", or false")) << how.error().message;
  EXPECT_FALSE(removal_of({"--grace-period", "-1"}).has_value());
}

}  // namespace
}  // namespace skiff::container
