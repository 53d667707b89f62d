#include "runtime/dialects/python_runtime/execute_answer.hpp"

#include <csignal>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/json/utf8.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

TEST(ExecuteAnswer, HasTheOriginalsMembers) {
  EXPECT_EQ(execute_answer({.out = "a\n", .err = "b"}, {.exit_code = 3}, false),
            R"({"stdout":"a\n","stderr":"b","exit_code":3})");
  EXPECT_EQ(execute_answer({.out = "", .err = ""}, {}, true),
            R"({"stdout":"","stderr":"","exit_code":0,"timed_out":false})");
  EXPECT_EQ(failed_answer("no", false), R"({"stdout":"","stderr":"Failed to execute command: no","exit_code":1})");
}

TEST(ExecuteAnswer, BytesThatAreNotTextAreReplaced) {
  EXPECT_EQ(execute_answer({.out = "\xff!", .err = "\xe2\x82"}, {}, false),
            "{\"stdout\":\"\xef\xbf\xbd!\",\"stderr\":\"\xef\xbf\xbd\",\"exit_code\":0}");
}

TEST(ExecuteAnswer, SaysWhatIsMissing) {
  EXPECT_THAT(
      execute_answer({.out = "x", .err = "e", .omitted_out = 7, .omitted_err = 2}, {}, false),
      HasSubstr(R"("stderr":"e\n[skiffd: 7 bytes of stdout and 2 bytes of stderr are left out of this answer]\n")"));
}

TEST(ExecuteAnswer, StaysBelowItsBoundWhateverItHolds) {
  constexpr std::size_t kMost = 4000;
  for (const std::string& piece :
       {std::string{"x"}, std::string{"\x01"}, std::string{"\n"}, std::string{"\xe2\x82\xac"}, std::string{"\xff"}}) {
    std::string much;
    while (much.size() < 20'000) much += piece;
    for (const auto& [out, err] : {std::pair{much, std::string{}}, std::pair{std::string{"small"}, much},
                                   std::pair{much, std::string{"small"}}, std::pair{much, much}}) {
      const std::string answer = execute_answer({.out = out, .err = err}, {}, false, kMost);
      EXPECT_LT(answer.size(), kMost + 300);
      EXPECT_GT(answer.size(), kMost - 50);
      EXPECT_TRUE(protocol::is_valid_utf8(answer));
      EXPECT_THAT(answer, HasSubstr("are left out of this answer"));
      if (out == "small" || err == "small") EXPECT_THAT(answer, HasSubstr("small")) << "the smaller one stays whole";
    }
  }
  EXPECT_THAT(execute_answer({.out = std::string(3900, 'x'), .err = ""}, {}, false, kMost), Not(HasSubstr("left out")));
}

sessions::ExitStatus ended_by(sessions::Cause cause, std::optional<int> signal = SIGKILL) {
  sessions::ExitStatus status;
  status.cause = cause;
  status.signal = signal;
  if (!signal) status.exit_code = 44;
  return status;
}

TEST(ExecuteAnswer, ReportsHowTheCommandEnded) {
  using sessions::Cause;
  EXPECT_EQ(executed(ended_by(Cause::exited, std::nullopt), 1s, false).exit_code, 44);
  EXPECT_EQ(executed(ended_by(Cause::signaled), 1s, false).exit_code, -9);

  const Executed late = executed(ended_by(Cause::timeout), 1500ms, true);
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(late.note, "Failed to execute command: it timed out after 1.5 seconds");
  EXPECT_EQ(executed(ended_by(Cause::timeout), 300s, false).exit_code, 1);

  auto status = ended_by(Cause::spawn_failed, std::nullopt);
  status.failure = sessions::SpawnFailure{"exec", 2, "exec: none"};
  const Executed unstarted = executed(status, 1s, false);
  EXPECT_EQ(unstarted.exit_code, 1);
  EXPECT_EQ(unstarted.note, "Failed to execute command: exec: none");

  const Executed guarded = executed(ended_by(Cause::oom_guard), 1s, false);
  EXPECT_EQ(guarded.exit_code, -9);
  EXPECT_THAT(guarded.note, EndsWith("oom_guard"));
}

}  // namespace
}  // namespace skiff::runtime::dialects::python_runtime
