#include "sessions/spawn/call_filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace skiff::sessions {
namespace {

/// The system call numbers of one architecture.
struct Numbers {
  std::uint32_t architecture;
  std::uint32_t prlimit64, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr, setpriority,
      ioprio_set;
};
constexpr Numbers kNative{
#if defined(__x86_64__)
    AUDIT_ARCH_X86_64,
#elif defined(__aarch64__)
    AUDIT_ARCH_AARCH64,
#else
#error "skiffd isolates commands on x86-64 and arm64"
#endif
    SYS_prlimit64,     SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
    SYS_sched_setattr, SYS_setpriority,       SYS_ioprio_set};
/// The 32-bit programs that this kernel also runs.
#if defined(__x86_64__)
constexpr Numbers kCompatible{AUDIT_ARCH_I386, 340, 241, 156, 154, 351, 97, 289};
#else
constexpr Numbers kCompatible{AUDIT_ARCH_ARM, 369, 241, 156, 154, 380, 97, 314};
#endif
/// The bit that x32 programs set in each number; no other call has it.
constexpr std::uint32_t kX32 = 0x40000000;
constexpr std::uint32_t kIoprioWhoUser = 3;  // linux/ioprio.h; Debian 12 has no such name

/// Positions of the parts of the program.
struct Part {
  enum Field : std::size_t {
    tables = 4,
    table_length = 10,
    limit = tables + 2 * table_length,  ///< argument 2: null if the call only reads the limit
    limit_high = limit + 2,
    first_is_0 = limit_high + 2,
    priority = first_is_0 + 2,  ///< argument 0: kind of target; argument 1: its id
    io_priority = priority + 2,
    second_is_0 = io_priority + 2,
    allowed = second_is_0 + 2,
    refused,
    absent,
    length,
  };
};

constexpr std::uint32_t low_word(std::size_t argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

constexpr std::array<sock_filter, Part::length> create_program() {
  std::array<sock_filter, Part::length> program{};
  const auto load = [&](std::size_t at, std::uint32_t offset) {
    program[at] = {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = offset};
  };
  const auto branch = [&](std::size_t at, int test, std::uint32_t value, std::size_t yes, std::size_t no) {
    program[at] = {.code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | test),
                   .jt = static_cast<std::uint8_t>(yes - at - 1),
                   .jf = static_cast<std::uint8_t>(no - at - 1),
                   .k = value};
  };
  const auto answer = [&](std::size_t at, std::uint32_t action) {
    program[at] = {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = action};
  };

  load(0, offsetof(seccomp_data, arch));
  branch(1, BPF_JEQ, kNative.architecture, Part::tables, 2);
  branch(2, BPF_JEQ, kCompatible.architecture, Part::tables + Part::table_length, 3);
  answer(3, SECCOMP_RET_ERRNO | ENOSYS);
  std::size_t at = Part::tables;
  for (const Numbers& numbers : {kNative, kCompatible}) {
    load(at++, offsetof(seccomp_data, nr));
    branch(at, BPF_JGE, kX32, Part::absent, at + 1);
    ++at;
    struct {
      std::uint32_t number;
      Part::Field part;
    } const judged[]{{numbers.prlimit64, Part::limit},
                     {numbers.sched_setaffinity, Part::first_is_0},
                     {numbers.sched_setscheduler, Part::first_is_0},
                     {numbers.sched_setparam, Part::first_is_0},
                     {numbers.sched_setattr, Part::first_is_0},
                     {numbers.setpriority, Part::priority},
                     {numbers.ioprio_set, Part::io_priority}};
    for (const auto& [number, part] : judged) {
      branch(at, BPF_JEQ, number, part, at + 1);
      ++at;
    }
    answer(at++, SECCOMP_RET_ALLOW);
  }

  load(Part::limit, low_word(2));
  branch(Part::limit + 1, BPF_JEQ, 0, Part::limit_high, Part::first_is_0);
  load(Part::limit_high, low_word(2) + 4);
  branch(Part::limit_high + 1, BPF_JEQ, 0, Part::allowed, Part::first_is_0);
  // The kernel reads only the low word of an int argument.
  load(Part::first_is_0, low_word(0));
  branch(Part::first_is_0 + 1, BPF_JEQ, 0, Part::allowed, Part::refused);
  // With PRIO_USER, 0 means all processes of the caller's user.
  load(Part::priority, low_word(0));
  branch(Part::priority + 1, BPF_JEQ, PRIO_USER, Part::refused, Part::second_is_0);
  load(Part::io_priority, low_word(0));
  branch(Part::io_priority + 1, BPF_JEQ, kIoprioWhoUser, Part::refused, Part::second_is_0);
  load(Part::second_is_0, low_word(1));
  branch(Part::second_is_0 + 1, BPF_JEQ, 0, Part::allowed, Part::refused);
  answer(Part::allowed, SECCOMP_RET_ALLOW);
  answer(Part::refused, SECCOMP_RET_ERRNO | EPERM);
  answer(Part::absent, SECCOMP_RET_ERRNO | ENOSYS);
  return program;
}

constinit std::array<sock_filter, Part::length> g_program = create_program();

}  // namespace

constinit const sock_fprog kCallFilter{.len = Part::length, .filter = g_program.data()};

}  // namespace skiff::sessions
