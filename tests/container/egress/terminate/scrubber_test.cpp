#include "container/egress/terminate/scrubber.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skiff::container::egress {
namespace {

std::string in_pieces(std::string_view whole, std::size_t size, const std::vector<std::string>& texts) {
  Scrubber scrubber{texts};
  std::string all;
  for (std::size_t at = 0; at < whole.size(); at += size) all += scrubber.pass(whole.substr(at, size));
  all += scrubber.rest();
  return all;
}

TEST(Scrubber, MasksAtEverySplit) {
  const std::vector<std::string> texts{"abcabd", "cab"};
  const std::string whole = "xabcabcabd abcab cabcabd abcab";
  const std::string once = scrubbed(whole, texts);
  EXPECT_EQ(once.size(), whole.size());
  EXPECT_FALSE(once.contains("abcabd"));
  EXPECT_FALSE(once.contains("cab"));
  for (std::size_t size = 1; size <= whole.size(); ++size) EXPECT_EQ(in_pieces(whole, size, texts), once) << size;
  for (std::size_t split = 0; split <= whole.size(); ++split) {
    Scrubber scrubber{texts};
    std::string all{scrubber.pass(std::string_view{whole}.substr(0, split))};
    all += scrubber.pass(std::string_view{whole}.substr(split));
    all += scrubber.rest();
    EXPECT_EQ(all, once) << split;
  }
}

TEST(Scrubber, MasksOverlappingOnes) {
  EXPECT_EQ(scrubbed("xaaay", {"aa"}), "x***y");
  EXPECT_EQ(in_pieces("xaaay", 1, {"aa"}), "x***y");
  EXPECT_EQ(scrubbed("ababa", {"aba"}), "*****");
  EXPECT_EQ(scrubbed("12345678", {"345", "45678"}), "12******");
}

TEST(Scrubber, KeepsBackNoMoreThanABeginning) {
  Scrubber scrubber{{"secret"}};
  EXPECT_EQ(scrubber.pass("data: 1\n\n"), "data: 1\n\n");
  EXPECT_EQ(scrubber.pass("x sec"), "x ");
  EXPECT_EQ(scrubber.pass("ond"), "second");
  EXPECT_EQ(scrubber.pass("secre"), "");
  EXPECT_EQ(scrubber.rest(), "secre");
  EXPECT_EQ(scrubber.masked(), 0U);
}

TEST(Scrubber, LeavesAllElse) {
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(in_pieces(bytes, 7, {"not in there"}), bytes);
  EXPECT_EQ(scrubbed("", {"secret"}), "");
}

}  // namespace
}  // namespace skiff::container::egress
