#include "base/async/task.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "base/async/event.hpp"
#include "base/async/with_timeout.hpp"
#include "tests/support/reactor_test.hpp"

/// Tests the messages of run_on_reactor about a test that hangs.
namespace skiff {
namespace {

Task<int> waits_for_ever(Executor executor) {
  Event never{executor};
  co_await never.wait();
  co_return 1;
}

Task<> waits_for_the_other(Executor executor) {
  const int result = co_await waits_for_ever(executor);
  EXPECT_EQ(result, 1);
}

Task<> waits_for_a_timer(Executor executor) {
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    Executor>
      timer{executor, std::chrono::hours{1}};
  co_await timer.async_wait(use_task);
}

Task<> blocks(Executor /*executor*/) {
  ::raise(SIGALRM);
  co_return;
}

/// The failure message of a test that does not end.
std::string complaint_about(Task<> (*body)(Executor)) {
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter reporter{
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures};
    test::run_on_reactor(body, std::chrono::seconds{1});
  }
  return failures.size() == 0 ? "" : failures.GetTestPartResult(0).message();
}

TEST(Task, IsNamedWithItsWaitersWhenItHangs) {
  EXPECT_THAT(complaint_about(&waits_for_the_other),
              testing::ContainsRegex("the innermost first:\n"
                                     "  skiff::Event::wait\\(.*\n"
                                     "  skiff::\\(anonymous namespace\\)::waits_for_ever\\(.*\n"
                                     "  skiff::\\(anonymous namespace\\)::waits_for_the_other\\(.*\n$"));
}

TEST(Task, IsNamedAsTheInnermostWhenItHangsInAsio) {
  EXPECT_THAT(complaint_about(&waits_for_a_timer),
              testing::ContainsRegex("the innermost first:\n"
                                     "  skiff::\\(anonymous namespace\\)::waits_for_a_timer\\(.*\n$"));
}

TEST(TaskDeathTest, IsNamedWithItsTestWhenItBlocksTheReactor) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer names the blocked test's stack itself, since its signal handler takes memory";
#endif
#endif
  EXPECT_EXIT(test::run_on_reactor(&blocks), testing::KilledBySignal(SIGALRM),
              "TaskDeathTest.IsNamedWithItsTestWhenItBlocksTheReactor blocks the reactor in\n(.*\n)*.*::blocks\\(");
}

}  // namespace
}  // namespace skiff
