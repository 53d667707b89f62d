#include "container/agent/copy/left_out.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::container {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TarSummary told_by(const protocol::Headers& trailers) {
  TarSummary summary;
  note_left_out(trailers, summary);
  return summary;
}

TEST(LeftOut, IsCountedAndNamed) {
  const TarSummary told = told_by({{"X-Skiff-Left-Out", "4"},
                                   {"X-Skiff-Left-Out-Names", "unreadable a%2Cb, vanished d/e, changed f%0A, odd g"},
                                   {"X-Skiff-Special-Files", "2"}});
  EXPECT_EQ(told.missing, 4U);
  EXPECT_EQ(told.skipped, 2U);
  EXPECT_THAT(told.missing_shown,
              ElementsAre("a,b: it could not be read", "d/e: it was removed or replaced while it was copied",
                          "f\n: it shrank while it was copied: its end is zeros", "g: odd"));
}

TEST(LeftOut, IsNothingWhereNothingIsSaid) {
  for (const char* number : {"", "0", "-1", "x", "1x", "99999999999999999999999"}) {
    const TarSummary told = told_by({{"X-Skiff-Left-Out", number}, {"X-Skiff-Left-Out-Names", "unreadable a"}});
    EXPECT_EQ(told.missing, 0U) << number;
    EXPECT_THAT(told.missing_shown, SizeIs(0)) << number;
  }
  EXPECT_EQ(told_by({}).missing, 0U);
}

TEST(LeftOut, ShowsNoMoreNamesThanOthersDo) {
  std::string names = "unreadable 0";
  for (int i = 1; i < 50; ++i) names += ", unreadable " + std::to_string(i);
  const TarSummary told = told_by({{"X-Skiff-Left-Out", "50"}, {"X-Skiff-Left-Out-Names", names}});
  EXPECT_THAT(told.missing_shown, SizeIs(TarSummary::kMostShown));
}

}  // namespace
}  // namespace skiff::container
