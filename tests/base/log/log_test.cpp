#include "base/log/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"
#include "tests/support/pipe.hpp"

namespace skiff::log {
namespace {

using namespace std::chrono_literals;

class Log : public ::testing::Test {
 protected:
  ~Log() override { configure(Level::info, Form::json); }

  static std::string written(Level level, std::string_view message, Fields fields = {}) {
    ::testing::internal::CaptureStderr();
    write(level, message, fields);
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, WritesOneJsonObjectALine) {
  const std::string line =
      written(Level::warning, "went wrong",
              {{"id", "c1"}, {"count", 3}, {"negative", -2L}, {"took_ms", 1250us}, {"late", true}});
  EXPECT_THAT(line, ::testing::MatchesRegex(
                        "\\{\"time\":\"....-..-..T..:..:......Z\",\"level\":\"warning\",\"message\":\"went wrong\","
                        "\"id\":\"c1\",\"count\":3,\"negative\":-2,\"took_ms\":1.25,\"late\":true\\}\n"));
}

TEST_F(Log, LetsNoFieldBreakOutOfItsLine) {
  const std::string line = written(Level::info, "a\"b\\c\nd", {{"k\n", std::string_view{"\x1b[2J\x00\x7f", 6}}});
  EXPECT_THAT(line, ::testing::HasSubstr(R"("message":"a\"b\\c\u000ad","k\u000a":"\u001b[2J\u0000\u007f")"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST_F(Log, IsUtf8WhateverAFieldHolds) {
  const auto shown = [](std::string_view bytes) {
    const std::string line = written(Level::info, "m", {{"k", bytes}});
    const std::size_t at = line.find(R"("k":")") + 5;
    return line.substr(at, line.size() - at - 3);
  };
  for (const std::string_view good :
       {"\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(shown(good), good);
  }
  EXPECT_EQ(shown("a\xff"
                  "b"),
            R"(a\ufffdb)");
  EXPECT_EQ(shown("\xc3"), R"(\ufffd)") << "cut short";
  EXPECT_EQ(shown("\xc3\""), R"(\ufffd\")");
  EXPECT_EQ(shown("\xc0\xaf"), R"(\ufffd\ufffd)") << "longer than it need be";
  EXPECT_EQ(shown("\xe0\x80\xaf"), R"(\ufffd\ufffd\ufffd)");
  EXPECT_EQ(shown("\xed\xa0\x80"), R"(\ufffd\ufffd\ufffd)") << "half of a pair";
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), R"(\ufffd\ufffd\ufffd\ufffd)");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J"),
            R"(\u009b2J)")
      << "a control character";
}

TEST_F(Log, LeavesOutWhatIsBelowTheLevel) {
  EXPECT_EQ(written(Level::debug, "detail"), "");
  configure(Level::error, Form::json);
  EXPECT_FALSE(enabled(Level::warning));
  EXPECT_EQ(written(Level::warning, "not this"), "");
  EXPECT_NE(written(Level::error, "but this"), "");
}

TEST_F(Log, IsWrittenWholeWhenItsBackgroundQueueEnds) {
  ::testing::internal::CaptureStderr();
  {
    const Background background;
    for (const char* line : {"one", "two", "three"}) info(line);
  }
  info("four");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_THAT(text, ::testing::ContainsRegex("one.*\n.*two.*\n.*three.*\n.*four"));
  EXPECT_EQ(lost(), 0U);
}

TEST_F(Log, IsWrittenBeforeAnEndThatRunsNoDestructor) {
  auto pipe = test::create_pipe();
  EXPECT_EQ(test::status_in_child([&] {
              ::dup2(pipe.write.get(), STDERR_FILENO);
              const Background background;
              info("the last words");
              flush();
              ::_exit(42);
              return 0;
            }),
            42);
  pipe.write.reset();
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(pipe.read.get(), text.data(), text.size()), 0)));
  EXPECT_THAT(text, ::testing::HasSubstr("the last words"));
}

TEST_F(Log, IsReadableAsText) {
  configure(Level::debug, Form::text);
  EXPECT_THAT(written(Level::debug, "started", {{"pid", 7}, {"root", "/w"}}),
              ::testing::MatchesRegex("..:..:...... debug    started pid=7 root=\"/w\"\n"));
}

}  // namespace
}  // namespace skiff::log
