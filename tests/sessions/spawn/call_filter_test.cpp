#include "sessions/spawn/call_filter.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"

namespace skiff::sessions {
namespace {

constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioWhoGroup = 2;
constexpr int kIoprioWhoUser = 3;
constexpr int kIdle = 3 << 13;

/// Runs `checks` in a process with the filter. Returns 0, or the number of the first check that fails.
template <class Checks>
int status_behind_filter(Checks checks) {
  return test::status_in_child([&]() -> int {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &kCallFilter) != 0) return -1;
    int number = 1;
    for (const bool holds : checks()) {
      if (!holds) return number;
      ++number;
    }
    return 0;
  });
}

template <class... Arguments>
bool refused(long number, Arguments... arguments) {
  return ::syscall(number, arguments...) == -1 && errno == EPERM;
}
template <class... Arguments>
bool works(long number, Arguments... arguments) {
  return ::syscall(number, arguments...) >= 0;
}

/// The beginning of sched_setattr(2)'s structure, up to the nice value.
struct Attributes {
  std::uint32_t size = 48;
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = ::getpriority(PRIO_PROCESS, 0);
  std::uint32_t rest[7] = {};
};

TEST(CallFilter, RefusesChangesToAnotherProcess) {
  const pid_t other = ::getpid();
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  cpu_set_t processors;
  ::sched_getaffinity(0, sizeof processors, &processors);
  const sched_param parameters{};
  Attributes attributes;
  const auto all = [&] {
    return std::array{refused(SYS_prlimit64, other, RLIMIT_CORE, &limit, nullptr),
                      refused(SYS_prlimit64, ::getpid(), RLIMIT_CORE, &limit, nullptr),
                      refused(SYS_sched_setaffinity, other, sizeof processors, &processors),
                      refused(SYS_sched_setscheduler, other, SCHED_OTHER, &parameters),
                      refused(SYS_sched_setparam, other, &parameters),
                      refused(SYS_sched_setattr, other, &attributes, 0),
                      refused(SYS_setpriority, PRIO_PROCESS, other, 19),
                      refused(SYS_setpriority, PRIO_PGRP, ::getpgrp(), 19),
                      refused(SYS_setpriority, PRIO_USER, 0, 19),
                      refused(SYS_setpriority, PRIO_USER, ::getuid(), 19),
                      refused(SYS_ioprio_set, kIoprioWhoProcess, other, kIdle),
                      refused(SYS_ioprio_set, kIoprioWhoGroup, ::getpgrp(), kIdle),
                      refused(SYS_ioprio_set, kIoprioWhoUser, 0, kIdle)};
  };
  EXPECT_EQ(status_behind_filter(all), 0);
}

TEST(CallFilter, AllowsAProcessItsOwnLimitsAndReads) {
  const pid_t other = ::getpid();
  rlimit limit{};
  cpu_set_t processors;
  ::sched_getaffinity(0, sizeof processors, &processors);
  const sched_param parameters{};
  Attributes attributes;
  const auto all = [&] {
    return std::array{works(SYS_prlimit64, other, RLIMIT_CORE, nullptr, &limit),
                      works(SYS_prlimit64, 0, RLIMIT_CORE, &limit, nullptr),
                      ::setrlimit(RLIMIT_CORE, &limit) == 0,
                      works(SYS_sched_setaffinity, 0, sizeof processors, &processors),
                      works(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameters),
                      works(SYS_sched_setparam, 0, &parameters),
                      works(SYS_sched_setattr, 0, &attributes, 0),
                      works(SYS_setpriority, PRIO_PROCESS, 0, 19),
                      works(SYS_ioprio_set, kIoprioWhoProcess, 0, kIdle),
                      works(SYS_getpriority, PRIO_PROCESS, other),
                      ::kill(other, 0) == 0};
  };
  EXPECT_EQ(status_behind_filter(all), 0);
}

TEST(CallFilter, ReadsTheWordThatTheKernelReads) {
  // A process id is 32 bits to the kernel, a pointer 64.
  const auto all = [] {
    return std::array{refused(SYS_prlimit64, 1, RLIMIT_CORE, 1L << 32U, nullptr),
                      refused(SYS_setpriority, (1L << 32U) + PRIO_USER, 0, 19),
                      ::syscall(SYS_prlimit64, 1L << 32U, RLIMIT_CORE, 8, nullptr) == -1 && errno == EFAULT};
  };
  EXPECT_EQ(status_behind_filter(all), 0);
}

#if defined(__x86_64__)
/// Makes a system call like a 32-bit program.
long call_of_i386(long number, long a, long b, long c, long d) {
  long result = number;
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
  return result;
}

TEST(CallFilter, Filters32BitCallsAlikeAndRefusesOthers) {
  constexpr int kGetpid = 20;
  if (test::status_in_child([] { return call_of_i386(kGetpid, 0, 0, 0, 0) == ::getpid() ? 0 : 1; }) != 0) {
    GTEST_SKIP() << "this kernel runs no 32-bit programs";
  }
  const pid_t other = ::getpid();
  const auto all = [&] {
    return std::array{call_of_i386(340, other, RLIMIT_CORE, 8, 0) == -EPERM,
                      call_of_i386(340, 0, RLIMIT_CORE, 8, 0) == -EFAULT,
                      call_of_i386(241, other, 8, 8, 0) == -EPERM,
                      call_of_i386(156, other, 0, 8, 0) == -EPERM,
                      call_of_i386(154, other, 8, 0, 0) == -EPERM,
                      call_of_i386(351, other, 8, 0, 0) == -EPERM,
                      call_of_i386(97, PRIO_USER, 0, 19, 0) == -EPERM,
                      call_of_i386(97, PRIO_PROCESS, other, 19, 0) == -EPERM,
                      call_of_i386(289, kIoprioWhoProcess, other, kIdle, 0) == -EPERM,
                      call_of_i386(kGetpid, 0, 0, 0, 0) == ::getpid(),
                      ::syscall(0x40000000 + SYS_getpid) == -1 && errno == ENOSYS};
  };
  EXPECT_EQ(status_behind_filter(all), 0);
}
#endif

}  // namespace
}  // namespace skiff::sessions
