#include "container/serve/fleet/line_backlog.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineBacklogTest, GivesLinesOnceInTheirOrder) {
  LineBacklog backlog{100, "missing"};
  EXPECT_THAT(backlog.take(), IsEmpty());
  backlog.add("one\ntwo\n");
  backlog.add("three\n");
  EXPECT_THAT(backlog.take(), ElementsAre("one", "two", "three"));
  EXPECT_THAT(backlog.take(), IsEmpty());
}

TEST(LineBacklogTest, DropsTheOldestAndSaysSoOnce) {
  LineBacklog backlog{10, "missing"};
  backlog.add("aaaa\nbbbb\ncccc\n");
  backlog.add("dddd\n");
  EXPECT_THAT(backlog.take(), ElementsAre("missing", "cccc", "dddd"));
  backlog.add("eeee\n");
  EXPECT_THAT(backlog.take(), ElementsAre("eeee"));
}

TEST(LineBacklogTest, ALineLargerThanAllIsDropped) {
  LineBacklog backlog{10, "missing"};
  backlog.add(std::string(11, 'a') + "\n");
  EXPECT_THAT(backlog.take(), ElementsAre("missing"));
}

TEST(LineBacklogTest, ManyLinesComeInPieces) {
  LineBacklog backlog{1'000'000, "missing"};
  const std::string line(40'000, 'a');
  backlog.add(line + "\n" + line + "\n" + line + "\n");
  EXPECT_EQ(backlog.take().size(), 2U);
  EXPECT_EQ(backlog.take().size(), 1U);
}

}  // namespace
}  // namespace skiff::container::serve
