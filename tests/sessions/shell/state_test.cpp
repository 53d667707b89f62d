#include "sessions/shell/state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

std::string dump(const std::string& value) {
  return "#posix\n/\n#umask\n0022\n#variables\nV='" + value + "'\n#ok\n";
}

/// A command whose shell leaves V=`value`.
class Run {
 public:
  Run(const std::shared_ptr<ShellState>& state, Names own = {}, bool saves = true)
      : run_{std::make_shared<ShellRun>(state, std::move(own), "/session", saves)} {
    auto file = run_->open_dump();
    EXPECT_TRUE(file.has_value());
    if (file) file_ = std::move(*file);
  }
  Run& writes(const std::string& text) {
    written_ = ::write(file_.get(), text.data(), text.size());
    return *this;
  }
  [[nodiscard]] Task<StateSaved> ends(bool exited = true) { return run_->conclude(exited, pool_); }
  [[nodiscard]] const UniqueFd& file() const { return file_; }
  [[nodiscard]] ssize_t written() const { return written_; }

 private:
  BlockingPool pool_{"test-state", 1};
  std::shared_ptr<ShellRun> run_;
  UniqueFd file_;
  ssize_t written_ = 0;
};

bool keeps(const ShellState& state, std::string_view line) {
  return state.snapshot && state.snapshot->script({}, 8).find(line) != std::string::npos;
}

CO_TEST(ShellState, KeepsWhatAShellThatExitedWrote) {
  const auto state = std::make_shared<ShellState>();
  Run run{state};
  EXPECT_EQ(co_await run.writes(dump("1")).ends(), StateSaved::saved);
  EXPECT_TRUE(keeps(*state, "V='1'"));
  Run second{state};
  EXPECT_EQ(co_await second.writes(dump("2")).ends(), StateSaved::saved);
  EXPECT_TRUE(keeps(*state, "V='2'"));
}

CO_TEST(ShellState, DiscardsTheStateOfAShellThatWasKilledOrLeftEarly) {
  const auto state = std::make_shared<ShellState>();
  Run killed{state};
  EXPECT_EQ(co_await killed.writes(dump("1")).ends(false), StateSaved::discarded);
  Run early{state};
  EXPECT_EQ(co_await early.ends(), StateSaved::discarded);
  Run half{state};
  EXPECT_EQ(co_await half.writes(dump("1").substr(0, 30)).ends(), StateSaved::discarded);
  EXPECT_EQ(state->snapshot, nullptr);
}

CO_TEST(ShellState, ForgetsASnapshotThatEndsItsReader) {
  const auto state = std::make_shared<ShellState>();
  Run first{state};
  EXPECT_EQ(co_await first.writes(dump("1")).ends(), StateSaved::saved);
  Run begun{state};
  EXPECT_EQ(co_await begun.writes("#start\n/\n#reading\n#begun\n").ends(), StateSaved::discarded);
  Run killed{state};
  EXPECT_EQ(co_await killed.writes("#reading\n").ends(false), StateSaved::discarded);
  EXPECT_TRUE(keeps(*state, "V='1'"));
  Run ended{state};
  EXPECT_EQ(co_await ended.writes("#start\n/\n#reading\n").ends(), StateSaved::discarded);
  EXPECT_EQ(state->snapshot, nullptr);
}

CO_TEST(ShellState, KeepsTheFirstOfTwoThatOverlap) {
  const auto state = std::make_shared<ShellState>();
  Run slow{state};
  Run quick{state};
  EXPECT_EQ(co_await quick.writes(dump("quick")).ends(), StateSaved::saved);
  EXPECT_EQ(co_await slow.writes(dump("slow")).ends(), StateSaved::conflict);
  EXPECT_TRUE(keeps(*state, "V='quick'"));
}

CO_TEST(ShellState, GivesAFileOnlyToACommandThatMaySave) {
  const auto state = std::make_shared<ShellState>();
  Run run{state, {}, false};
  EXPECT_FALSE(run.file());
  EXPECT_EQ(co_await run.ends(), StateSaved::discarded);
}

CO_TEST(ShellState, BoundsWhatAShellWrites) {
  const auto state = std::make_shared<ShellState>();
  Run large{state};
  large.writes(dump(std::string(ShellRun::kLargestDump, 'x')));
  EXPECT_LE(large.written(), static_cast<ssize_t>(ShellRun::kLargestDump));
  EXPECT_EQ(co_await large.ends(), StateSaved::discarded);
  Run fits{state};
  EXPECT_EQ(co_await fits.writes(dump(std::string(ShellRun::kLargestDump - 1000, 'x'))).ends(), StateSaved::saved);
}

CO_TEST(ShellState, KeepsNoVariableOfOneCommand) {
  const auto state = std::make_shared<ShellState>();
  Run first{state};
  EXPECT_EQ(co_await first.writes(dump("session")).ends(), StateSaved::saved);
  Run own{state, {"V"}};
  EXPECT_EQ(co_await own.writes(dump("own")).ends(), StateSaved::saved);
  EXPECT_TRUE(keeps(*state, "V='session'"));
}

CO_TEST(ShellState, KeepsTheSessionsDirectoryWhenACommandStayedInItsOwn) {
  const auto state = std::make_shared<ShellState>();
  Run stays{state};
  EXPECT_EQ(co_await stays.writes("#start\n/own\n#posix\n/own\n#umask\n0022\n#ok\n").ends(), StateSaved::saved);
  EXPECT_EQ(state->snapshot->cwd(), "/session");
  Run goes{state};
  EXPECT_EQ(co_await goes.writes("#start\n/own\n#posix\n/else\n#umask\n0022\n#ok\n").ends(), StateSaved::saved);
  EXPECT_EQ(state->snapshot->cwd(), "/else");
}

}  // namespace
}  // namespace skiff::sessions
