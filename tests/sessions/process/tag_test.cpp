#include "sessions/process/tag.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <set>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

constexpr Tag kLeast = Tag{1} << 40U;

TEST(Tag, IsAboveTwelveDaysAndNeverUnlimited) {
  for (int i = 0; i < 1000; ++i) {
    TagSource source{RLIM_INFINITY};
    const Tag tag = source.next();
    EXPECT_GT(tag, kLeast);
    EXPECT_NE(tag, RLIM_INFINITY);
  }
}

TEST(Tag, IsUnique) {
  TagSource source{RLIM_INFINITY};
  std::set<Tag> seen;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(source.next()).second);
}

TEST(Tag, StartsAtRandomForEachAgent) {
  TagSource one{RLIM_INFINITY};
  TagSource other{RLIM_INFINITY};
  EXPECT_NE(one.next(), other.next());
}

TEST(Tag, StaysBelowAFiniteHardLimit) {
  for (const std::uint64_t hard :
       {kLeast + 1'000'000, std::uint64_t{1} << 50U, kLeast + 1, std::uint64_t{RLIM_INFINITY} - 1}) {
    TagSource source{hard};
    for (int i = 0; i < 1000; ++i) {
      const Tag tag = source.next();
      EXPECT_LT(tag, hard);
      EXPECT_GE(tag, kLeast);
    }
  }
}

TEST(Tag, BelongsToTheCommandAroundItsAgentOnly) {
  TagSource outer{RLIM_INFINITY};
  const Tag tag = outer.next();
  const Tag sibling = outer.next();
  TagSource inner{tag};
  for (int i = 0; i < 1000; ++i) {
    const Tag nested = inner.next();
    EXPECT_LT(nested, tag);
    EXPECT_TRUE(belongs(nested, tag));
    EXPECT_FALSE(belongs(nested, sibling));
    EXPECT_FALSE(belongs(tag, nested)) << "an inner agent must not find itself among its commands";
    TagSource innermost{nested};
    const Tag deepest = innermost.next();
    EXPECT_LT(deepest, nested);
    EXPECT_TRUE(belongs(deepest, tag));
    EXPECT_FALSE(belongs(deepest, sibling));
  }
}

TEST(Tag, UnlimitedBelongsToNoCommand) {
  TagSource source{RLIM_INFINITY};
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(belongs(RLIM_INFINITY, source.next()));
}

TEST(Tag, IsReadBackFromAProcess) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_RTTIME, &limit), 0);
  EXPECT_EQ(mark_of(::getpid()), std::uint64_t{limit.rlim_max});
  EXPECT_FALSE(mark_of(0x3fffffff).has_value());
}

}  // namespace
}  // namespace skiff::sessions
