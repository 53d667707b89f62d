#include "sessions/spawn/launch.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/kernel_features.hpp"
#include "sessions/spawn/call_filter.hpp"
#include "sessions/spawn/spawn.hpp"
#include "sessions/spawn/system_call.hpp"

namespace skiff::sessions {
namespace {

constexpr int kLeastSlot = 10;     // above every target, so no source is overwritten before it is copied
constexpr unsigned kMostLow = 64;  // the kernel copies tables in steps of 64 descriptors

struct KernelSigaction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};
constexpr KernelSigaction kDefaultAction{};
constexpr std::uint64_t kNoSignals = 0;
constexpr int kSignals = 64;

/// Calls clone(2) with a stack for the child. The child runs `body(argument)`, which must not return.
long clone_onto(void* stack_top, unsigned long flags, pid_t* pid_seen, void (*body)(void*), void* argument) {
#if defined(__x86_64__)
  register pid_t* rdx __asm__("rdx") = pid_seen;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  register void (*r12)(void*) __asm__("r12") = body;
  register void* r13 __asm__("r13") = argument;
  long result = SYS_clone;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_top), "r"(rdx), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = SYS_clone;
  register unsigned long x0 __asm__("x0") = flags;
  register void* x1 __asm__("x1") = stack_top;
  register pid_t* x2 __asm__("x2") = pid_seen;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register void (*x19)(void*) __asm__("x19") = body;
  register void* x20 __asm__("x20") = argument;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "brk 1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19), "r"(x20)
      : "x30", "memory");
  return static_cast<long>(x0);
#endif
}

/// The data that parent and child share while the parent's thread is suspended.
struct Child {
  const LaunchPlan* plan = nullptr;
  int sources[3 + kMostExtraDescriptors] = {};  ///< for 0, 1, 2 and the extra ones; at least `kLeastSlot`
  unsigned beyond = 0;  ///< above 0: the table is shared; the child's copy ends before this number
  bool close_range = false;
  std::uint64_t not_default = 0;  ///< bit N-1: signal N is ignored or handled
  long table_size = 0;            ///< without close_range: all descriptors are below this
  long parent = 0;
  volatile int error = 0;
  volatile LaunchStage stage = LaunchStage::exec;
};

[[noreturn]] SKIFF_CHILD void give_up(Child& child, LaunchStage stage, long error) {
  child.stage = stage;
  child.error = static_cast<int>(-error);
  for (;;) call(SYS_exit_group, 127);
}

/// Closes the descriptors from `first` up to but not including `end`.
SKIFF_CHILD void close_between(const Child& child, long first, long end) {
  if (first >= end) return;
  if (child.close_range) {
    call(SYS_close_range, first, end - 1, 0);
    return;
  }
  for (long fd = first; fd < end; ++fd) call(SYS_close, fd);
}

SKIFF_CHILD void take_descriptors(Child& child) {
  const LaunchPlan& plan = *child.plan;
  for (int target = 0; target < 3; ++target) {
    if (const long r = call(SYS_dup3, child.sources[target], target, 0); r < 0) {
      give_up(child, LaunchStage::descriptors, r);
    }
  }
  // exec closes the close-on-exec descriptors; this closes any that other code in the process left inheritable.
  long next = 3;
  for (std::size_t i = 0; i < plan.extra_count; ++i) {
    const int target = plan.extra[i].target;
    if (const long r = call(SYS_dup3, child.sources[3 + i], target, 0); r < 0) {
      give_up(child, LaunchStage::descriptors, r);
    }
    close_between(child, next, target);
    next = target + 1;
  }
  close_between(child, next, child.close_range ? 1L << 32U : child.table_size);
}

SKIFF_CHILD void take_limits(Child& child) {
  const LaunchPlan& plan = *child.plan;
  for (std::size_t i = 0; i < plan.limit_count; ++i) {
    const std::pair<int, rlimit>& one = plan.limits[i];
    if (const long r = call(SYS_prlimit64, 0, one.first, as_long(&one.second)); r < 0) {
      give_up(child, LaunchStage::limits, r);
    }
  }
  if (plan.tag != 0) {
    const rlimit mark{plan.tag, plan.tag};
    if (const long r = call(SYS_prlimit64, 0, RLIMIT_RTTIME, as_long(&mark)); r < 0) {
      give_up(child, LaunchStage::limits, r);
    }
  }
}

SKIFF_CHILD void become_user(Child& child) {
  const LaunchPlan& plan = *child.plan;
  if (!plan.switch_user) return;
  // The raw calls change this task only. Processes of that uid still cannot trace the child, and so write the agent's
  // memory, because a change of credentials makes the shared memory undumpable (ptrace(2)).
  long r = call(SYS_setgroups, static_cast<long>(plan.group_count), as_long(plan.groups));
  if (r >= 0) r = call(SYS_setresgid, plan.gid, plan.gid, plan.gid);
  if (r >= 0) r = call(SYS_setresuid, plan.uid, plan.uid, plan.uid);
  if (r < 0) give_up(child, LaunchStage::user, r);
}

/// Like execvp(3): tries the next candidate while one is missing or may not be executed, and reports EACCES if one may
/// not.
[[noreturn]] SKIFF_CHILD void run_program(Child& child) {
  const LaunchPlan& plan = *child.plan;
  long error = -ENOENT;
  bool refused = false;
  for (const char* const* path = plan.candidates; *path != nullptr; ++path) {
    // execve(2) waits up to a minute for the holder of a lease on the program (F_SETLEASE), and the spawning thread
    // waits with it. This open fails at once instead, and while it is open no process gets such a lease. execve reports
    // a file that cannot be read.
    const long readable = call(SYS_openat, AT_FDCWD, as_long(*path), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (readable == -EWOULDBLOCK) give_up(child, LaunchStage::exec, -ETXTBSY);
    error = call(SYS_execve, as_long(*path), as_long(plan.argv), as_long(plan.envp));
    if (error == -ENOEXEC) {
      plan.shell_argv[1] = const_cast<char*>(*path);
      error = call(SYS_execve, as_long(plan.shell_argv[0]), as_long(plan.shell_argv), as_long(plan.envp));
      break;
    }
    if (error == -EACCES) {
      refused = true;
    } else if (error != -ENOENT && error != -ENOTDIR && error != -ESTALE && error != -ENODEV && error != -ETIMEDOUT) {
      give_up(child, LaunchStage::exec, error);
    }
  }
  give_up(child, LaunchStage::exec, refused ? -EACCES : error);
}

/// Enforces the rules while the agent's descriptors are still open. The later steps before exec open nothing, so the
/// rules do not block them.
SKIFF_CHILD void put_on_rules(const LaunchPlan& plan, Child& child) {
  if (plan.ruleset < 0) return;
  long r = call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
  if (r >= 0) r = call(SYS_landlock_restrict_self, plan.ruleset, 0);
  // This filter needs no protection against speculation, which would slow the program down (prctl(2)).
  constexpr long kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (r >= 0) r = call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, as_long(&kCallFilter));
  if (r < 0) give_up(child, LaunchStage::isolation, r);
}

SKIFF_CHILD void enter_cgroup(const LaunchPlan& plan, Child& child) {
  if (plan.cgroup < 0) return;
  if (const long r = call(SYS_write, plan.cgroup, as_long("0"), 1); r < 0) give_up(child, LaunchStage::cgroup, r);
}

[[noreturn]] SKIFF_CHILD void child_main(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  const LaunchPlan& plan = *child.plan;
  enter_cgroup(plan, child);
  put_on_rules(plan, child);
  // Leave the shared descriptor table first, with a copy of its low part only: the rest may be 10,000 connections.
  if (child.beyond > 0) {
    if (const long r = call(SYS_close_range, child.beyond, ~0U, CLOSE_RANGE_UNSHARE); r < 0) {
      give_up(child, LaunchStage::descriptors, r);
    }
  }
  // exec keeps ignored signals, and a handler would run on the agent's memory once signals are unblocked.
  for (std::uint64_t left = child.not_default; left != 0; left &= left - 1) {
    const int signal = __builtin_ctzll(left) + 1;
    if (const long r = call(SYS_rt_sigaction, signal, as_long(&kDefaultAction), 0, 8); r < 0) {
      give_up(child, LaunchStage::signals, r);
    }
  }
  if (const long r = call(SYS_setsid); r < 0) give_up(child, LaunchStage::session, r);
  take_descriptors(child);
  if (plan.controlling_terminal) {
    if (const long r = call(SYS_ioctl, 0, TIOCSCTTY, 0); r < 0) give_up(child, LaunchStage::terminal, r);
  }
  take_limits(child);
  become_user(child);
  // Set it after the change of user, which clears it. If the agent has died meanwhile, no signal would come, so check
  // the parent.
  call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (call(SYS_getppid) != child.parent) give_up(child, LaunchStage::session, -ESRCH);
  if (plan.cwd != nullptr) {
    if (const long r = call(SYS_chdir, as_long(plan.cwd)); r < 0) give_up(child, LaunchStage::chdir, r);
  }
  // Lower the priority late: the spawning thread waits for this process, which otherwise would wait behind other
  // commands.
  call(SYS_setpriority, PRIO_PROCESS, 0, plan.priority);
  call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&kNoSignals), 0, 8);
  run_program(child);
}

/// The size of the descriptor table, from /proc/self/status. Closing all numbers below it is fastest: listing
/// /proc/self/fd costs ten times as much for each descriptor. 0 without /proc; then only close-on-exec, which the agent
/// sets on every descriptor, closes them.
long descriptor_table_size() {
  const UniqueFd file{::open("/proc/self/status", O_RDONLY | O_CLOEXEC)};
  if (!file) return 0;
  char buffer[4096];
  const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
  const std::string_view text{buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  constexpr std::string_view kKey = "\nFDSize:\t";
  const std::size_t at = text.find(kKey);
  long value = 0;
  if (at != std::string_view::npos) std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::uint64_t signals_not_default() {
  std::uint64_t found = 0;
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelSigaction now{};
    if (call(SYS_rt_sigaction, signal, 0, as_long(&now), 8) == 0 && now.handler != nullptr) {
      found |= std::uint64_t{1} << static_cast<unsigned>(signal - 1);
    }
  }
  return found;
}

ChildStack::ChildStack(std::size_t page) : page_{page} {
  void* const memory =
      ::mmap(nullptr, page + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<char*>(memory);
  ::mprotect(memory, page, PROT_NONE);  // mprotect(2) rounds up to whole pages
}

ChildStack::~ChildStack() {
  if (memory_ != nullptr) ::munmap(memory_, page_ + kBytes);
}

LaunchPad::LaunchPad(std::uint64_t not_default) : not_default_{not_default} {
  if (stack_.top() == nullptr) return;
  UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (!null) {
    // A root directory without devices: this file reads as empty, too.
    null.reset(::memfd_create("skiff-null", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ::fcntl(null.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  }
  if (null) null_.reset(::fcntl(null.get(), F_DUPFD_CLOEXEC, kLeastSlot));
  if (!null_ || !kernel_features().close_range) return;
  for (UniqueFd& slot : slots_) {
    slot.reset(::fcntl(null_.get(), F_DUPFD_CLOEXEC, kLeastSlot));
    if (!slot || slot.get() >= static_cast<int>(kMostLow)) {
      for (UniqueFd& each : slots_) each.reset();
      beyond_ = 0;
      return;
    }
    beyond_ = std::max(beyond_, static_cast<unsigned>(slot.get()) + 1);
  }
}

Launched LaunchPad::launch(const LaunchPlan& plan, std::atomic<pid_t>* pid_seen) {
  static_assert(sizeof(std::atomic<pid_t>) == sizeof(pid_t) && std::atomic<pid_t>::is_always_lock_free);
  if (stack_.top() == nullptr) return {.error = ENOMEM, .stage = LaunchStage::clone};

  Child child;
  child.plan = &plan;
  child.beyond = beyond_;
  child.close_range = kernel_features().close_range;
  if (!child.close_range) child.table_size = descriptor_table_size();
  child.not_default = not_default_;
  child.parent = ::getpid();

  const std::size_t count = 3 + plan.extra_count;
  std::array<UniqueFd, 3 + kMostExtraDescriptors> raised;
  // Clear the slots: a pipe's end that stays open there would keep its reader from seeing the end of file.
  const auto clear_slots = [&] {
    for (std::size_t i = 0; beyond_ > 0 && i < count; ++i) ::dup3(null_.get(), slots_[i].get(), O_CLOEXEC);
  };
  for (std::size_t i = 0; i < count; ++i) {
    int source = i < 3 ? plan.descriptors[i] : plan.extra[i - 3].source;
    if (source < 0 && i < 3) source = null_.get();
    if (source < 0) {
      clear_slots();
      return {.error = ENOENT, .stage = LaunchStage::descriptors};
    }
    if (beyond_ > 0) {
      child.sources[i] = slots_[i].get();
      if (::dup3(source, slots_[i].get(), O_CLOEXEC) >= 0) continue;
    } else {
      if (source < kLeastSlot) {
        raised[i].reset(::fcntl(source, F_DUPFD_CLOEXEC, kLeastSlot));
        source = raised[i].get();
      }
      child.sources[i] = source;
      if (source >= 0) continue;
    }
    const int error = errno;
    clear_slots();
    return {.error = error, .stage = LaunchStage::descriptors};
  }

  // Without CLONE_FILES clone copies the whole descriptor table.
  unsigned long flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
  if (beyond_ > 0) flags |= CLONE_FILES;
  pid_t pid = 0;
  pid_t* const seen = pid_seen != nullptr ? reinterpret_cast<pid_t*>(pid_seen) : &pid;
  // Block all signals, including those that the C library reserves: no handler may run in the child.
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&all), as_long(&before), 8);
  long made = clone_onto(stack_.top(), flags, seen, child_main, &child);
  if (made == -EINVAL && (flags & CLONE_FILES) != 0) {
    // qemu's emulation of Linux knows no such child: it gets a copy of the whole table.
    child.beyond = 0;
    made = clone_onto(stack_.top(), flags & ~static_cast<unsigned long>(CLONE_FILES), seen, child_main, &child);
  }
  // qemu makes a fork of it, and writes the pid into the memory of the child alone.
  if (made > 0 && pid_seen != nullptr) pid_seen->store(static_cast<pid_t>(made));
  call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&before), 0, 8);

  clear_slots();
  if (made < 0) return {.error = static_cast<int>(-made), .stage = LaunchStage::clone};
  return {.pid = static_cast<pid_t>(made), .error = child.error, .stage = child.stage};
}

}  // namespace skiff::sessions
