#include "base/async/finally.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <boost/asio/post.hpp>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using test::give;

Task<> note(std::string* log, std::string word) {
  *log += word;
  co_return;
}

Task<std::unique_ptr<int>> give_what_can_only_be_moved() {
  co_return std::make_unique<int>(7);
}

Task<> throw_it(const char* what) {
  throw std::runtime_error{what};
  co_return;
}

/// The message of the exception that the task threw; empty if none.
Task<std::string> thrown_by(Task<> task) {
  try {
    co_await std::move(task);
  } catch (const std::exception& error) {
    co_return error.what();
  }
  co_return std::string{};
}

CO_TEST(Finally, CleansUpAfterTheWorkAndReturnsItsResult) {
  std::string log;
  co_await finally([&] { return note(&log, "work "); }, [&] { return note(&log, "clean-up"); });
  EXPECT_EQ(log, "work clean-up");
  const int given = co_await finally([] { return give(5); }, [&] { return note(&log, "."); });
  EXPECT_EQ(given, 5);
  const auto moved = co_await finally(give_what_can_only_be_moved, [&] { return note(&log, "."); });
  EXPECT_EQ(*moved, 7);
  EXPECT_EQ(log, "work clean-up..");
}

CO_TEST(Finally, CleansUpAfterAnExceptionAndThrowsIt) {
  std::string log;
  auto task = finally([] { return throw_it("the work"); }, [&] { return note(&log, "clean-up"); });
  EXPECT_EQ(co_await thrown_by(std::move(task)), "the work");
  EXPECT_EQ(log, "clean-up");
}

CO_TEST(Finally, PrefersTheExceptionOfTheCleanUp) {
  auto work_too = finally([] { return throw_it("the work"); }, [] { return throw_it("the clean-up"); });
  EXPECT_EQ(co_await thrown_by(std::move(work_too)), "the clean-up");
  auto alone = finally([] { return give(1); }, [] { return throw_it("the clean-up"); });
  bool threw = false;
  try {
    co_await std::move(alone);
  } catch (const std::runtime_error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
}

/// A caller whose work waits for `never`, and whose clean-up waits for `release`.
struct Caller {
  explicit Caller(Executor executor) : never{executor}, release{executor} {}
  Event never;
  Event release;
  bool cleaned_up = false;
  bool went_on = false;
  bool works = true;

  Task<> clean_up() {
    co_await release.wait();
    cleaned_up = true;
  }
  Task<> work() {
    if (works) co_await never.wait();
  }
  Task<> run() {
    co_await finally([this] { return work(); }, [this] { return clean_up(); });
    co_await never.wait();
    went_on = true;
  }
};

Task<> turns(Executor executor) {
  for (int turn = 0; turn < 10; ++turn) co_await boost::asio::post(executor, use_task);
}

CO_TEST(Finally, CleansUpToTheEndHoweverOftenTheCallerIsCancelled) {
  Caller caller{executor};
  TaskGroup group{executor};
  group.spawn("caller", caller.run());
  for (int times = 0; times < 3; ++times) {
    group.cancel();
    co_await turns(executor);
    EXPECT_TRUE(caller.release.awaited()) << "the clean-up goes on";
  }
  caller.release.notify_all();
  co_await group.join();
  EXPECT_TRUE(caller.cleaned_up);
  EXPECT_FALSE(caller.went_on);
}

CO_TEST(Finally, CancellationDuringTheCleanUpEndsTheNextWait) {
  Caller caller{executor};
  caller.works = false;
  TaskGroup group{executor};
  group.spawn("caller", caller.run());
  co_await turns(executor);
  group.cancel();
  co_await turns(executor);
  EXPECT_TRUE(caller.release.awaited());
  caller.release.notify_all();
  co_await turns(executor);
  EXPECT_TRUE(group.empty()) << "the cancellation was lost";
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(caller.cleaned_up);
  EXPECT_FALSE(caller.went_on);
}

CO_TEST(Finally, CompletesANestedCleanUp) {
  Caller inner{executor};
  inner.works = false;
  bool done = false;
  TaskGroup group{executor};
  auto outer = [](Caller* of, bool* into) -> Task<> {
    co_await finally([of] { return of->never.wait(); },
                     [of, into] {
                       return finally([of] { return of->work(); },
                                      [of, into]() {
                                        *into = true;
                                        return of->clean_up();
                                      });
                     });
  };
  group.spawn("outer", outer(&inner, &done));
  for (int times = 0; times < 2; ++times) {
    group.cancel();
    co_await turns(executor);
  }
  EXPECT_TRUE(done);
  EXPECT_TRUE(inner.release.awaited()) << "the second signal ended the inner clean-up";
  inner.release.notify_all();
  co_await group.join();
  EXPECT_TRUE(inner.cleaned_up);
}

}  // namespace
}  // namespace skiff
