#include "fs/search/line_search.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace skiff::fs {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

UniqueFd file_of(std::string_view content) {
  UniqueFd file{::memfd_create("text", MFD_CLOEXEC)};
  EXPECT_EQ(::write(file.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

struct LineAnswer {
  std::vector<LineMatch> matches;
  LineSearch::End end = LineSearch::End::searched;
};

LineAnswer search_text(std::string_view content, const std::string& pattern, const SearchLimits& limits = {}) {
  LineSearch searching{LineMatcher::compile({.text = pattern}).value(), limits};
  LineAnswer answer;
  answer.end = searching.search(file_of(content).get(), kAll, [&](LineMatch match) {
    answer.matches.push_back(std::move(match));
    return true;
  });
  return answer;
}

TEST(LineSearch, TellsLineColumnAndText) {
  const LineAnswer answer = search_text("one\ntwo two\n\nthree two", "two");
  ASSERT_EQ(answer.matches.size(), 2U);
  EXPECT_EQ(answer.matches[0].line_number, 2U);
  EXPECT_EQ(answer.matches[0].column, 1U);
  EXPECT_EQ(answer.matches[0].text, "two two");
  EXPECT_FALSE(answer.matches[0].cut);
  EXPECT_EQ(answer.matches[1].line_number, 4U);
  EXPECT_EQ(answer.matches[1].column, 7U);
  EXPECT_EQ(search_text("", "a*").matches.size(), 0U);
  EXPECT_EQ(search_text("\n\nx\n", "^$").matches.size(), 2U);
  EXPECT_EQ(search_text("ab", "$").matches.size(), 1U);
  EXPECT_EQ(search_text("ab\n", "$").matches.size(), 1U);
  EXPECT_EQ(search_text("b\nb\n", "a*").matches.size(), 2U);
}

TEST(LineSearch, GivesTheLinesAround) {
  const LineAnswer answer = search_text("1\n2\n3x\n4x\n5\n6\n7x", "x", {.before = 2, .after = 2});
  ASSERT_EQ(answer.matches.size(), 3U);
  using Lines = std::vector<std::string>;
  EXPECT_EQ(answer.matches[0].before, (Lines{"1", "2"}));
  EXPECT_EQ(answer.matches[0].after, (Lines{"4x", "5"}));
  EXPECT_EQ(answer.matches[1].before, (Lines{"2", "3x"}));
  EXPECT_EQ(answer.matches[1].after, (Lines{"5", "6"}));
  EXPECT_EQ(answer.matches[2].before, (Lines{"5", "6"}));
  EXPECT_EQ(answer.matches[2].after, (Lines{}));
}

TEST(LineSearch, JudgesAFileWithoutRegardToTheFilesBefore) {
  std::string text = "a needle\n";
  while (text.size() < (200U << 10U)) text += "hay\n";
  text += '\0';
  LineSearch searching{LineMatcher::compile({.text = "needle"}).value(), SearchLimits{}};
  std::vector<std::size_t> found;
  for (const std::string& content : {text, std::string(std::size_t{1} << 20U, 'x'), text}) {
    std::size_t matches = 0;
    (void)searching.search(file_of(content).get(), kAll, [&](const LineMatch&) { return ++matches > 0; });
    found.push_back(matches);
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{1, 0, 1}));
}

TEST(LineSearch, LeavesBinaryFilesOut) {
  const std::string zero{"x\0x", 3};
  EXPECT_EQ(search_text(zero, "x").end, LineSearch::End::binary);
  EXPECT_TRUE(search_text("match x\n" + zero, "x").matches.empty());
  // Like ripgrep it reports matches in blocks before the one with the zero byte.
  const LineAnswer late = search_text("x\n" + std::string(200'000, '\n') + zero, "x");
  EXPECT_EQ(late.end, LineSearch::End::binary);
  EXPECT_EQ(late.matches.size(), 1U);
}

TEST(LineSearch, CutsLongLinesAroundTheMatch) {
  const LineAnswer near = search_text("x" + std::string(1000, 'a'), "x", {.longest_line = 100});
  ASSERT_EQ(near.matches.size(), 1U);
  EXPECT_EQ(near.matches[0].text, "x" + std::string(99, 'a'));
  EXPECT_EQ(near.matches[0].text_column, 1U);
  EXPECT_TRUE(near.matches[0].cut);
  const LineAnswer far =
      search_text("1\n" + std::string(1000, 'a') + "x" + std::string(1000, 'b'), "x", {.longest_line = 100});
  ASSERT_EQ(far.matches.size(), 1U);
  EXPECT_EQ(far.matches[0].column, 1001U);
  EXPECT_EQ(far.matches[0].text_column, 976U);
  EXPECT_EQ(far.matches[0].text, std::string(25, 'a') + "x" + std::string(74, 'b'));
}

TEST(LineSearch, SearchesLinesThatNoBufferHolds) {
  const std::string many(3'000'000, 'a');
  const LineAnswer answer =
      search_text("1\n" + many + "needle" + many + "needle\nneedle\n", "needle", {.before = 1, .after = 1});
  ASSERT_EQ(answer.matches.size(), 2U);
  EXPECT_EQ(answer.matches[0].line_number, 2U);
  EXPECT_EQ(answer.matches[0].column, 3'000'001U);
  EXPECT_TRUE(answer.matches[0].text.contains("needle"));
  EXPECT_EQ(answer.matches[0].text.size(), 16U * 1024);
  EXPECT_EQ(answer.matches[1].line_number, 3U);
  EXPECT_EQ(answer.matches[1].column, 1U);
}

TEST(LineSearch, FindsMatchesAcrossWindows) {
  for (std::size_t before = (std::size_t{1} << 20U) - 12; before < (std::size_t{1} << 20U) + 6; ++before) {
    const LineAnswer answer = search_text(std::string(before, 'a') + "needle" + std::string(100, 'b'), "needle");
    ASSERT_EQ(answer.matches.size(), 1U) << before;
    EXPECT_EQ(answer.matches[0].column, before + 1);
  }
}

TEST(LineSearch, StopsWhenTheSinkDoesAndReadsNoMoreThanAllowed) {
  LineSearch searching{LineMatcher::compile({.text = "x"}).value(), {}};
  int calls = 0;
  EXPECT_EQ(searching.search(file_of("x\nx\nx\n").get(), kAll, [&](const LineMatch&) { return ++calls < 2; }),
            LineSearch::End::stopped);
  EXPECT_EQ(calls, 2);
  calls = 0;
  EXPECT_EQ(searching.search(file_of("x\nx\nx\n").get(), 4, [&](const LineMatch&) { return ++calls > 0; }),
            LineSearch::End::searched);
  EXPECT_EQ(calls, 2);
}

/// A plain search, as the reference.
std::vector<LineMatch> plainly(std::string_view content, std::string_view wanted, unsigned before, unsigned after) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    lines.emplace_back(content.substr(at, end - at));
    at = end + 1;
  }
  std::vector<LineMatch> matches;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t at = lines[i].find(wanted);
    if (at == std::string::npos) continue;
    LineMatch match{.line_number = i + 1, .column = at + 1, .text = lines[i]};
    for (std::size_t j = i - std::min<std::size_t>(before, i); j < i; ++j) match.before.push_back(lines[j]);
    for (std::size_t j = i + 1; j < lines.size() && j <= i + after; ++j) match.after.push_back(lines[j]);
    matches.push_back(std::move(match));
  }
  return matches;
}

TEST(LineSearch, AgreesWithAPlainSearchOnRandomText) {
  unsigned seed = 9;
  const auto next = [&seed](unsigned below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 16U) % below;
  };
  std::size_t found = 0;
  for (int round = 0; round < 60; ++round) {
    std::string content;
    const unsigned size = 1000 + next(30) * 10'000, line = 1 + next(300);
    while (content.size() < size) content += next(line) == 0 ? '\n' : static_cast<char>('a' + next(6));
    const unsigned before = next(4), after = next(4);
    std::string wanted;
    for (unsigned i = 0, count = 2 + next(3); i < count; ++i) wanted += static_cast<char>('a' + next(6));
    const auto expected = plainly(content, wanted, before, after);
    const LineAnswer answer = search_text(content, wanted, {.before = before, .after = after});
    ASSERT_EQ(answer.matches.size(), expected.size()) << "round " << round;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(answer.matches[i].line_number, expected[i].line_number);
      ASSERT_EQ(answer.matches[i].column, expected[i].column);
      ASSERT_EQ(answer.matches[i].text, expected[i].text);
      ASSERT_EQ(answer.matches[i].before, expected[i].before);
      ASSERT_EQ(answer.matches[i].after, expected[i].after);
    }
    found += expected.size();
  }
  EXPECT_GT(found, 1000U);
}

}  // namespace
}  // namespace skiff::fs
