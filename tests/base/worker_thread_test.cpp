#include "base/worker_thread.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <latch>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"

namespace skiff {
namespace {

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

TEST(WorkerThread, TakesNoSignalFromItsFirstInstructionOn) {
  const auto body = [] {
    const sigset_t child = only(SIGCHLD);
    // Send the signal as early as possible, before most of these threads have run.
    for (int i = 0; i < 50; ++i) {
      pthread_sigmask(SIG_UNBLOCK, &child, nullptr);
      std::latch begun{1};
      std::thread worker = start_worker([&begun] { begun.count_down(); });
      pthread_sigmask(SIG_BLOCK, &child, nullptr);
      ::kill(::getpid(), SIGCHLD);
      begun.wait();
      const timespec at_once{};
      const int taken = ::sigtimedwait(&child, nullptr, &at_once);
      worker.join();
      if (taken != SIGCHLD) return 1;
    }
    return 0;
  };
  EXPECT_EQ(test::status_in_child(body), 0);
}

TEST(WorkerThread, LeavesTheCallersSignalsAsTheyWere) {
  const auto body = [](bool refused) {
    const sigset_t set = only(SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &set, nullptr);
    if (refused) {
      test::refuse_syscall(SYS_clone3, EAGAIN);
      test::refuse_syscall(SYS_clone, EAGAIN);
    }
    try {
      start_worker([] {}).join();
      if (refused) return 1;
    } catch (const std::system_error& error) {
      if (!refused || error.code() != std::errc::resource_unavailable_try_again) return 2;
    }
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    return sigismember(&after, SIGUSR1) == 1 && sigismember(&after, SIGCHLD) == 0 ? 0 : 3;
  };
  EXPECT_EQ(test::status_in_child([&] { return body(false); }), 0);
  EXPECT_EQ(test::status_in_child([&] { return body(true); }), 0);
}

}  // namespace
}  // namespace skiff
