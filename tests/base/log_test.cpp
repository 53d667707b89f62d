#include "base/log.hpp"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(Log, LeavesOutWhatIsBelowTheLevel) {
  EXPECT_EQ(written(Level::debug, "detail"), "");
  configure(Level::error, Form::json);
  EXPECT_FALSE(enabled(Level::warning));
  EXPECT_EQ(written(Level::warning, "not this"), "");
  EXPECT_NE(written(Level::error, "but this"), "");
}

TEST_F(Log, IsReadableAsText) {
  configure(Level::debug, Form::text);
  EXPECT_THAT(written(Level::debug, "started", {{"pid", 7}, {"root", "/w"}}),
              ::testing::MatchesRegex("..:..:...... debug    started pid=7 root=\"/w\"\n"));
}

}  // namespace
}  // namespace skiff::log
