#include "container/drivers/box/steps.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

TEST(BoxSteps, AreReportedInOneLine) {
  for (int step = 0; step <= static_cast<int>(Step::exec); ++step) {
    const Refusal refusal{.step = static_cast<Step>(step), .error = EPERM, .what = "/proc/sys", .label = "unconfined"};
    const std::string line = refusal_line(refusal);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(parse_refusal(line), refusal) << line;
  }
}

TEST(BoxSteps, HaveWordsWithoutBlanks) {
  EXPECT_EQ(parse_refusal(refusal_line({.step = Step::clone, .error = 1, .what = {}, .label = {}})),
            (Refusal{.step = Step::clone, .error = 1, .what = {}, .label = {}}));
  const auto read = parse_refusal(refusal_line({.step = Step::tree, .error = 2, .what = "/a b\n", .label = "x (y)\n"}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->what, "/a_b_");
  EXPECT_EQ(read->label, "x_(y)_");
}

TEST(BoxSteps, AreNotReadFromOtherLines) {
  for (const char* line : {"", "skiffd listening on fd:3", "box refused", "box refused nothing 1 - -",
                           "box refused clone x - -", "box created 5"}) {
    EXPECT_FALSE(parse_refusal(line).has_value()) << line;
  }
}

TEST(BoxSteps, NameTheProcessOfABox) {
  EXPECT_EQ(parse_created(created_line(4711)), 4711);
  EXPECT_EQ(parse_created("box created"), std::nullopt);
  EXPECT_EQ(parse_created("box created x"), std::nullopt);
  EXPECT_EQ(parse_created("box passed"), std::nullopt);
}

}  // namespace
}  // namespace skiff::container::box
