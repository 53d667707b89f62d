#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

/// For what changes a process for good: its limits, mounts, system calls.
namespace skiff::test {

/// The exit status of a forked child that returns `body()`; -1 if it ended otherwise.
template <class Body>
int status_in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a body that hangs
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// From now on the call fails so in this process; with a mask, only when its argument has one of those bits.
inline void refuse_syscall(long number, int error, unsigned argument = 0, std::uint32_t mask = 0) {
  const auto low_word = static_cast<unsigned>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  const auto code = [](int bits) { return static_cast<std::uint16_t>(bits); };
  std::array filter{
      sock_filter{.code = code(BPF_LD | BPF_W | BPF_ABS), .jt = 0, .jf = 0, .k = offsetof(seccomp_data, nr)},
      sock_filter{.code = code(BPF_JMP | BPF_JEQ | BPF_K), .jt = 0, .jf = 2, .k = static_cast<std::uint32_t>(number)},
      sock_filter{.code = code(BPF_LD | BPF_W | BPF_ABS), .jt = 0, .jf = 0, .k = low_word},
      sock_filter{.code = code(BPF_JMP | BPF_JSET | BPF_K), .jt = 1, .jf = 0, .k = mask},
      sock_filter{.code = code(BPF_RET | BPF_K), .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW},
      sock_filter{
          .code = code(BPF_RET | BPF_K), .jt = 0, .jf = 0, .k = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)},
  };
  if (mask == 0) filter[3] = {.code = code(BPF_JMP | BPF_JA), .jt = 0, .jf = 0, .k = 1};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ADD_FAILURE() << "the filter can't be installed";
  }
}

/// Runs checks (EXPECT_*) in a child where a system call is refused.
template <class Checks>
void expect_without(Checks checks, long number, int error, unsigned argument = 0, std::uint32_t mask = 0) {
  EXPECT_EQ(status_in_child([&] {
              refuse_syscall(number, error, argument, mask);
              checks();
              return testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

}  // namespace skiff::test
