#include "fs/search/grep.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

struct GrepAnswer {
  std::vector<std::string> lines;  // "path:line:text"
  GrepSummary summary;
};

GrepAnswer search_tree(const test::ScratchTree& tree, const LinePattern& pattern, const GrepOptions& options = {}) {
  GrepAnswer answer;
  answer.summary = grep(tree.open(), LineMatcher::compile(pattern).value(), options, {}, [&](auto matches) {
    for (const GrepMatch& match : matches) {
      answer.lines.push_back(match.path + ":" + std::to_string(match.line.line_number) + ":" + match.line.text);
    }
    return true;
  });
  std::ranges::sort(answer.lines);
  EXPECT_EQ(answer.summary.matches, answer.lines.size());
  return answer;
}

using Lines = std::vector<std::string>;

TEST(Grep, SearchesATree) {
  const test::ScratchTree tree;
  tree.write(".gitignore", "out\n");
  tree.write("a.txt", "one\ntwo\n");
  tree.write("src/b.c", "int two;\nint three; // two\n");
  tree.write("src/empty");
  tree.write("out/c", "two\n");
  tree.write(".hidden", "two\n");
  tree.write("binary", std::string_view{"two\0", 4});
  tree.link("link", "a.txt");
  ASSERT_EQ(tree.shell("mkfifo fifo"), 0);
  GrepAnswer answer = search_tree(tree, {.text = "two"});
  EXPECT_EQ(answer.lines, (Lines{"a.txt:2:two", "src/b.c:1:int two;", "src/b.c:2:int three; // two"}));
  EXPECT_EQ(answer.summary.files, 2U);
  EXPECT_EQ(answer.summary.searched, 3U);
  EXPECT_EQ(answer.summary.binary, 1U);
  EXPECT_FALSE(answer.summary.truncated);
  answer = search_tree(tree, {.text = "two"}, {.walk = {.hidden = true, .ignored = true}});
  EXPECT_EQ(answer.lines.size(), 5U);
  answer = search_tree(tree, {.text = "^int \\w+;"}, {.only = Glob::compile("**/*.c").value()});
  EXPECT_EQ(answer.lines, (Lines{"src/b.c:1:int two;", "src/b.c:2:int three; // two"}));
  EXPECT_EQ(answer.summary.searched, 1U);
}

TEST(Grep, IsBoundedByMatchesAndFileSizes) {
  const test::ScratchTree tree;
  for (int file = 0; file < 40; ++file) {
    std::string text;
    for (int line = 0; line < 50; ++line) text += "match " + std::to_string(line) + "\n";
    tree.write("d" + std::to_string(file % 4) + "/" + std::to_string(file), text);
  }
  for (const unsigned threads : {1U, 2U}) {
    GrepAnswer answer = search_tree(tree, {.text = "match"}, {.walk = {.threads = threads}, .most = 333});
    EXPECT_EQ(answer.lines.size(), 333U);
    EXPECT_TRUE(answer.summary.truncated);
    answer = search_tree(tree, {.text = "match"}, {.walk = {.threads = threads}, .most = 2000});
    EXPECT_EQ(answer.lines.size(), 2000U);
    EXPECT_EQ(answer.summary.files, 40U);
    EXPECT_FALSE(answer.summary.truncated);
    answer = search_tree(tree, {.text = "match"}, {.walk = {.threads = threads}, .largest_file = 100});
    EXPECT_EQ(answer.lines.size(), 0U);
    EXPECT_EQ(answer.summary.too_large, 40U);
  }
}

TEST(Grep, StopsWhenTheSinkOrTheTokenDoes) {
  const test::ScratchTree tree;
  for (int i = 0; i < 50; ++i) {
    std::string text;
    for (int line = 0; line < 300; ++line) text += "match\n";
    tree.write(std::to_string(i), text);
  }
  const auto matcher = LineMatcher::compile({.text = "match"}).value();
  for (const unsigned threads : {1U, 2U}) {
    int calls = 0;
    auto summary = grep(tree.open(), matcher, {.walk = {.threads = threads}, .most = 100'000}, {},
                        [&](auto) { return ++calls < 3; });
    EXPECT_EQ(calls, 3);
    EXPECT_TRUE(summary.truncated);
    std::stop_source source;
    source.request_stop();
    summary = grep(tree.open(), matcher, {.walk = {.threads = threads}}, source.get_token(), [](auto) { return true; });
    EXPECT_TRUE(summary.truncated);
    EXPECT_EQ(summary.matches, 0U);
  }
}

TEST(Grep, SearchesOneFile) {
  const test::ScratchTree tree;
  tree.write("a", "x\ny\nx\n");
  const UniqueFd file{::open((tree / "a").c_str(), O_RDONLY | O_CLOEXEC)};
  std::uint64_t last = 0;
  const auto summary =
      grep_file(file, "shown/a", LineMatcher::compile({.text = "x"}).value(), {}, {}, [&](auto matches) {
        for (const GrepMatch& match : matches) {
          EXPECT_EQ(match.path, "shown/a");
          last = match.line.line_number;
        }
        return true;
      });
  EXPECT_EQ(summary.matches, 2U);
  EXPECT_EQ(last, 3U);
}

TEST(Grep, StopsWithinOneFile) {
  const test::ScratchTree tree;
  tree.write("a", std::string(300'000, 'y') + "\nx\n" + std::string(300'000, 'y') + "\nx\n");
  const UniqueFd file{::open((tree / "a").c_str(), O_RDONLY | O_CLOEXEC)};
  std::stop_source source;
  source.request_stop();
  const auto summary = grep_file(file, "a", LineMatcher::compile({.text = "x"}).value(), {}, source.get_token(),
                                 [](auto) { return true; });
  EXPECT_EQ(summary.matches, 0U);
  EXPECT_TRUE(summary.truncated);
}

}  // namespace
}  // namespace skiff::fs
