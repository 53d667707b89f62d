#include "sessions/isolation.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

TEST(Ruleset, IsNoneForNoIsolation) {
  const auto rules = Ruleset::create(Isolation::none, {{.folder = "/nonexistent"}});
  ASSERT_TRUE(rules);
  EXPECT_EQ(*rules, nullptr);
}

TEST(Ruleset, IsMadeWhereTheLevelIsOfferedAndRefusedElsewhere) {
  const auto offered = offered_isolation();
  EXPECT_EQ(offered.front(), Isolation::none);
  for (const Isolation level : {Isolation::protect, Isolation::landlock}) {
    const auto rules = Ruleset::create(level, {{.folder = "/usr", .writable = false}});
    if (std::ranges::find(offered, level) != offered.end()) {
      ASSERT_TRUE(rules) << rules.error().message;
      EXPECT_GE((*rules)->fd(), 0);
    } else {
      ASSERT_FALSE(rules);
      EXPECT_EQ(rules.error().code, Errc::isolation_unavailable);
      EXPECT_EQ(rules.error().field, "/isolation");
    }
  }
}

TEST(Ruleset, NamesTheRootThatIsNotThere) {
  if (offered_isolation().size() == 1) GTEST_SKIP() << "no Landlock here";
  const auto rules = Ruleset::create(Isolation::landlock, {{.folder = "/nonexistent"}});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, Errc::path_not_found);
  EXPECT_NE(rules.error().message.find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace skiff::sessions
