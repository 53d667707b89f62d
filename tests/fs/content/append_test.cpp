#include "fs/content/append.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "fs/content/write.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::put;
using test::word;

class AppendTest : public test::Files {
 public:
  Tree tree = open_tree();

  std::string append(std::string_view path, std::optional<std::uint64_t> offset, std::string_view bytes) const {
    auto appender = Appender::begin(tree, path, {.offset = offset});
    if (!appender) return word(appender);
    if (auto done = appender->write(bytes); !done) return word(done);
    return word(appender->finish());
  }
};

TEST_F(AppendTest, AddsBytesAtTheEnd) {
  EXPECT_EQ(append("d/f", 0, "one"), "ok") << "made with its directories";
  EXPECT_EQ(append("d/f", 3, "two"), "ok");
  EXPECT_EQ(append("d/f", std::nullopt, "three"), "ok");
  EXPECT_EQ(get(root / "d/f"), "onetwothree");
}

TEST_F(AppendTest, ReportsTheSizeForAWrongOffset) {
  put(root / "f", "12345");
  for (const std::uint64_t offset : {0U, 4U, 6U}) {
    Appender appender = Appender::begin(tree, "f", {.offset = offset}).value();
    EXPECT_EQ(word(appender.check()), "append_offset_mismatch");
    EXPECT_EQ(appender.size(), 5U);
    EXPECT_EQ(word(appender.write(std::string{"x"})), "append_offset_mismatch");
    EXPECT_EQ(word(appender.finish()), "append_offset_mismatch");
  }
  EXPECT_EQ(get(root / "f"), "12345");
  Appender missing = Appender::begin(tree, "none", {.offset = 5}).value();
  EXPECT_EQ(word(missing.check()), "append_offset_mismatch");
  EXPECT_EQ(missing.size(), 0U);
  EXPECT_FALSE(std::filesystem::exists(root / "none"));
}

TEST_F(AppendTest, KeepsWhatHasArrivedOfAnAbortedAppend) {
  {
    Appender appender = Appender::begin(tree, "f", {.offset = 0}).value();
    ASSERT_TRUE(appender.write(std::string{"first"}));
  }
  Appender appender = Appender::begin(tree, "f", {.offset = 0}).value();
  EXPECT_EQ(appender.size(), 5U) << "where to go on";
  EXPECT_EQ(append("f", 5, " second"), "ok");
  EXPECT_EQ(get(root / "f"), "first second");
}

TEST_F(AppendTest, LetsOnlyOneOfManyUseAnOffset) {
  put(root / "f", "");
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) threads.emplace_back([&] { done += append("f", 0, "0123456789") == "ok" ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(root / "f"), "0123456789");
  EXPECT_LE(done, 1);
}

TEST_F(AppendTest, KeepsEachPieceWholeWhenManyAddToALog) {
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'k'; ++letter) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(append("log", std::nullopt, std::string(99, letter) + "\n"), "ok");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string log = get(root / "log");
  ASSERT_EQ(log.size(), 20'000U);
  for (std::size_t i = 0; i < log.size(); i += 100) {
    EXPECT_EQ(log.substr(i, 100), std::string(99, log[i]) + "\n");
  }
}

TEST_F(AppendTest, NoticesThatTheFileWasReplacedBetweenTwoPieces) {
  Appender appender = Appender::begin(tree, "f", {.offset = 0}).value();
  ASSERT_TRUE(appender.write(std::string{"abc"}));
  ASSERT_TRUE(write_file(tree, "f", "other"));
  EXPECT_EQ(word(appender.write(std::string{"def"})), "append_offset_mismatch");
  EXPECT_EQ(appender.size(), 5U);
  EXPECT_EQ(get(root / "f"), "other");
}

TEST_F(AppendTest, RefusesWhatItMustNotTouch) {
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0666), 0);
  std::filesystem::create_symlink("../outside/secret", root / "out");
  EXPECT_EQ(append("fifo", 0, "x"), "not_a_regular_file");
  EXPECT_EQ(append(".", 0, "x"), "invalid_field");
  EXPECT_EQ(append("out", 6, "x"), "path_escapes_root");
  EXPECT_EQ(append((library / "book").string(), 5, "x"), "permission_denied");
  EXPECT_EQ(get(outside / "secret"), "secret");
}

TEST_F(AppendTest, ChecksConditionsAndSetsTheModeOfANewFile) {
  put(root / "f", "abc");
  const auto stale = TagList::parse("\"h-00\"").value();
  EXPECT_EQ(word(Appender::begin(tree, "f", {.conditions = {.if_match = stale}})), "precondition_failed");
  ASSERT_TRUE(Appender::begin(tree, "g", {.mode = 0600})->write(std::string{"x"}));
  EXPECT_EQ(std::filesystem::status(root / "g").permissions(), std::filesystem::perms{0600});
}

TEST_F(AppendTest, ReturnsANewTagForEachChange) {
  Appender first = Appender::begin(tree, "f").value();
  ASSERT_TRUE(first.write(std::string{"x"}));
  const Written one = first.finish().value();
  EXPECT_TRUE(one.created);
  Appender second = Appender::begin(tree, "f").value();
  ASSERT_TRUE(second.write(std::string{"x"}));
  const Written two = second.finish().value();
  EXPECT_FALSE(two.created);
  EXPECT_EQ(two.entry.size, 2U);
  EXPECT_NE(one.tag, two.tag);
}

}  // namespace
}  // namespace skiff::fs
