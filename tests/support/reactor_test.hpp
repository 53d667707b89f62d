#pragma once

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <gtest/gtest.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/task.hpp"
#include "tests/support/waiting_tasks.hpp"

/// Tests that are coroutines. `CO_TEST(Suite, Name) { ... }` runs its body as a `Task<>` on a fresh io_context;
/// `executor` is that context's. Two things are checked besides the body: it must end within 20 s (the test fails then,
/// says which coroutines wait for each other, and cancels them), and once it has ended nothing may be left on the
/// reactor: what was started must have been stopped.
///
/// `CO_TEST(Suite, Name, Fixture& on) { ... }` gives the body a Fixture that is made of the executor. Before the body
/// its `begin()` runs, if it has one; after it `stop()` or `close()`, also where a CO_ASSERT_TRUE has ended the body.
/// The variables of the body are destroyed by then.
///
/// ASSERT_* hold a plain `return`, which a coroutine can't have: use `CO_ASSERT_TRUE(condition) << ...` (ends the body)
/// or EXPECT_*. A test with a fixture calls `skiff::test::run_on_reactor(task_function)` from its TEST_F.
namespace skiff::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIFF_TEST_SLOWDOWN 3
#endif
#endif
#ifndef SKIFF_TEST_SLOWDOWN
#define SKIFF_TEST_SLOWDOWN 1
#endif

inline constexpr std::chrono::seconds kReactorLimit{20 * SKIFF_TEST_SLOWDOWN};

/// For a body that blocks the reactor itself, which no timer on the reactor could end: SIGALRM says where, and ends the
/// test program.
class BlockedReactor {
 public:
  explicit BlockedReactor(std::chrono::seconds limit) {
    std::signal(SIGALRM, &tell);
    ::alarm(static_cast<unsigned>(limit.count()));
  }
  ~BlockedReactor() {
    ::alarm(0);
    std::signal(SIGALRM, SIG_DFL);
  }
  BlockedReactor(const BlockedReactor&) = delete;
  BlockedReactor& operator=(const BlockedReactor&) = delete;

 private:
  static void tell(int signal) {
    // To find the names takes memory, which may be what the program hangs in: then the second one ends it.
    std::signal(signal, SIG_DFL);
    ::alarm(5);
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::cerr << "FATAL: " << (test != nullptr ? test->test_suite_name() : "?") << '.'
              << (test != nullptr ? test->name() : "?") << " blocks the reactor in\n";
    std::array<void*, 32> calls{};
    const int count = ::backtrace(calls.data(), calls.size());
    for (void* const call : std::span{calls}.first(static_cast<std::size_t>(count))) {
      std::cerr << "  " << function_at(static_cast<const char*>(call) - 1) << '\n';
    }
    ::raise(signal);
  }
};

/// Runs `body(executor)` to its end, and then the reactor until it has no work. The limit counts for each of the two.
template <class Body>
void run_on_reactor(Body body, std::chrono::seconds limit = kReactorLimit) {
  const BlockedReactor blocked{limit * 2 + std::chrono::seconds{10}};
  {
    boost::asio::io_context io;
    boost::asio::cancellation_signal stop;
    WaitingTasks tasks;
    bool done = false;
    boost::asio::co_spawn(io, WaitingTasks::run(&tasks, body(io.get_executor())),
                          boost::asio::bind_cancellation_slot(stop.slot(), [&done](const std::exception_ptr& failure) {
                            done = true;
                            if (!failure) return;
                            try {
                              std::rethrow_exception(failure);
                            } catch (const std::exception& error) {
                              ADD_FAILURE() << "the test's coroutine ended with an exception: " << error.what();
                            }
                          }));

    // True once `finished`; false when the time is over or when nobody on the reactor has anything left to do.
    const auto run_until = [&](auto finished) {
      const auto until = std::chrono::steady_clock::now() + limit;
      while (!finished() && !io.stopped() && std::chrono::steady_clock::now() < until) io.run_one_until(until);
      return finished();
    };
    if (!run_until([&] { return done; })) {
      ADD_FAILURE() << "the test's coroutine did not end within " << limit.count()
                    << " s. What waits, the innermost first:\n"
                    << tasks.names();
      if (io.stopped()) io.restart();
      stop.emit(boost::asio::cancellation_type::terminal);
      if (!run_until([&] { return done; })) {
        std::cerr << "FATAL: the test's coroutine does not end when it is cancelled\n";
        std::abort();
      }
    }
    EXPECT_TRUE(run_until([&] { return io.stopped(); }))
        << "work was left on the reactor after the test's coroutine had ended";
  }
}

/// The body of a test with a fixture.
template <class Fixture>
Task<> run_with_fixture(Executor executor, Task<> (*body)(Executor, Fixture&)) {
  Fixture fixture{executor};
  if constexpr (requires { fixture.begin(); }) co_await fixture.begin();
  co_await finally([&] { return body(executor, fixture); },
                   [&] {
                     if constexpr (requires { fixture.stop(); }) {
                       return fixture.stop();
                     } else {
                       return fixture.close();
                     }
                   });
}
template <class Fixture>
void run_on_reactor(Task<> (*body)(Executor, Fixture&)) {
  run_on_reactor([body](Executor executor) { return run_with_fixture(std::move(executor), body); });
}

/// Waits while the reactor goes on, between two looks at what tells nobody of its change.
inline Task<> pause(std::chrono::milliseconds time) {
  using Clock = std::chrono::steady_clock;
  const Executor executor = co_await boost::asio::this_coro::executor;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> timer{executor, time};
  co_await timer.async_wait(use_task);
}

/// A task that has its value at once.
inline Task<int> give(int value) {
  co_return value;
}

}  // namespace skiff::test

#define CO_TEST(suite, name, ...)                                                                      \
  static ::skiff::Task<> suite##_##name##_body(::skiff::Executor executor __VA_OPT__(, ) __VA_ARGS__); \
  TEST(suite, name) {                                                                                  \
    ::skiff::test::run_on_reactor(&suite##_##name##_body);                                             \
  }                                                                                                    \
  static ::skiff::Task<> suite##_##name##_body([[maybe_unused]] ::skiff::Executor executor __VA_OPT__(, ) __VA_ARGS__)

/// Like ASSERT_TRUE, in a coroutine. Streams a message: `CO_ASSERT_TRUE(item) << "nothing came";`.
#define CO_ASSERT_TRUE(condition)     \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_       \
  if (static_cast<bool>(condition)) { \
  } else                              \
    co_return GTEST_MESSAGE_AT_(__FILE__, __LINE__, #condition " is false", ::testing::TestPartResult::kFatalFailure)

/// GTEST_SKIP, in a coroutine: `CO_SKIP() << "there is no IPv6 here";`.
#define CO_SKIP() co_return GTEST_MESSAGE_AT_(__FILE__, __LINE__, "", ::testing::TestPartResult::kSkip)
