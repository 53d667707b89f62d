#include "container/sandbox/undo_unless.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

constexpr std::chrono::milliseconds kLate{1};

/// Work that ends when it is told to, and what undoes it.
struct Bench {
  explicit Bench(Executor executor) : opened{executor} {}
  Event opened;
  bool is_open = false;
  Result<int> outcome = 7;
  Result<bool> undone = true;
  std::vector<std::chrono::milliseconds> patience = {};
  int times_undone = 0;
  std::string thrown = {};

  Task<Result<int>> work() {
    while (!is_open) co_await opened.wait();
    co_return outcome;
  }
  Task<Result<bool>> undo(std::chrono::milliseconds of) {
    ++times_undone;
    patience.push_back(of);
    co_return undone;
  }
  Task<Result<int>> run(std::optional<SteadyTime> until = std::nullopt) {
    return undo_unless(work(), [this](std::chrono::milliseconds of) { return undo(of); }, kLate, until);
  }
  Task<> run_and_note() {
    try {
      (void)co_await run();
    } catch (const boost::system::system_error& error) {
      thrown = error.code() == boost::asio::error::operation_aborted ? error.what() : "";
      throw;
    }
  }
};

CO_TEST(UndoUnless, LeavesWorkThatIsDone) {
  Bench bench{executor};
  bench.is_open = true;
  const Result<int> done = co_await bench.run();
  EXPECT_EQ(done, 7);
  EXPECT_EQ(bench.times_undone, 0);
}

CO_TEST(UndoUnless, UndoesWhatFailedAndTellsWhatIsLeft) {
  Bench bench{executor};
  bench.outcome = fail(Errc::timeout, "too late");
  bench.undone = fail(Errc::io_error, "no connection");
  bench.is_open = true;
  const Result<int> done = co_await bench.run();
  EXPECT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::timeout);
  EXPECT_EQ(done.error().message, "too late; and it could not be cleaned up: no connection");
  EXPECT_EQ(bench.times_undone, 1);
}

/// A task that goes on after an error can still be cancelled.
Task<> fail_then_wait(Bench* bench, Event* never, bool* went_on) {
  (void)co_await bench->run();
  co_await never->wait();
  *went_on = true;
}

CO_TEST(UndoUnless, CanBeCancelledAgainAfterAnError) {
  Bench bench{executor};
  bench.outcome = fail(Errc::timeout, "too late");
  bench.is_open = true;
  Event never{executor};
  bool went_on = false;
  TaskGroup group{executor};
  group.spawn("all", fail_then_wait(&bench, &never, &went_on));
  while (bench.times_undone == 0) co_await boost::asio::post(executor, use_task);
  co_await boost::asio::post(executor, use_task);
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(went_on);
}

CO_TEST(UndoUnless, UndoesCancelledWorkOnceMoreForWhatArrivesLate) {
  Bench bench{executor};
  TaskGroup group{executor};
  group.spawn("all", bench.run_and_note());
  group.cancel();
  co_await group.join();
  EXPECT_EQ(bench.times_undone, 2);
  EXPECT_FALSE(bench.thrown.empty());
  EXPECT_FALSE(bench.thrown.contains("cleaned up"));
}

CO_TEST(UndoUnless, EndsWorkOfAHostThatDoesNotAnswer) {
  Bench bench{executor};
  const Result<int> done = co_await bench.run(std::chrono::steady_clock::now());
  CO_ASSERT_TRUE(!done);
  EXPECT_EQ(done.error().code, Errc::cluster_unavailable);
  EXPECT_EQ(bench.patience, (std::vector{kUndoPatience, std::chrono::milliseconds{0}})) << "it may come late";

  Bench silent{executor};
  silent.undone = fail(Errc::timeout, "no answer");
  const Result<int> told = co_await silent.run(std::chrono::steady_clock::now());
  CO_ASSERT_TRUE(!told);
  EXPECT_TRUE(told.error().message.ends_with("; and it could not be cleaned up: no answer")) << told.error().message;
  EXPECT_EQ(silent.times_undone, 1) << "who does not answer is asked once";
}

CO_TEST(UndoUnless, WaitsForNothingThatGoesByItself) {
  Bench failing{executor};
  failing.outcome = fail(Errc::timeout, "too late");
  failing.undone = false;
  failing.is_open = true;
  const Result<int> done = co_await failing.run();
  EXPECT_EQ(done.error().message, "too late; what it had made is being removed");
  EXPECT_EQ(failing.patience, (std::vector{kUndoPatience}));

  Bench cancelled{executor};
  cancelled.undone = false;
  TaskGroup group{executor};
  group.spawn("all", cancelled.run_and_note());
  group.cancel();
  co_await group.join();
  EXPECT_EQ(cancelled.thrown, "what it had made is being removed");
  EXPECT_EQ(cancelled.patience, (std::vector{kUndoPatience, std::chrono::milliseconds{0}}));
}

CO_TEST(UndoUnless, TellsWhatIsLeftOfCancelledWork) {
  Bench bench{executor};
  bench.undone = fail(Errc::io_error, "no connection");
  TaskGroup group{executor};
  group.spawn("all", bench.run_and_note());
  group.cancel();
  co_await group.join();
  EXPECT_EQ(bench.thrown, "it could not be cleaned up: no connection");
}

}  // namespace
}  // namespace skiff::container
