#include "container/drivers/box/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace skiff::container::box {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "skiff makes boxes on x86-64 and arm64"
#endif

// Calls since Linux 5.3 have the same numbers everywhere; the headers of Debian 12 lack the last of them.
constexpr std::uint32_t kFchmodat2 = 452;
constexpr std::uint32_t kOpenTreeAttr = 467;
/// The last call of Linux 6.17. It is above the numbers of x86's old calls, and below those of x32.
constexpr std::uint32_t kLastKnown = 469;

/// Absent in the box. Programs that ask for them have a fallback or are not for a sandbox.
constexpr auto kAbsent = std::to_array<std::uint32_t>({
    SYS_clone3,
    SYS_openat2,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_open_by_handle_at,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_tree,
    SYS_move_mount,
    SYS_mount_setattr,
    SYS_setns,
    SYS_pidfd_getfd,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_settimeofday,
    SYS_adjtimex,
    SYS_acct,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_syslog,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    SYS_vhangup,
    SYS_fanotify_init,
    SYS_io_setup,  // fs.aio-max-nr is one number for the whole machine
    kOpenTreeAttr,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_create_module,
    SYS_uselib,
    SYS__sysctl,
    SYS_ustat,
    SYS_sysfs,
#endif
});
constexpr auto kRefusedCalls = std::to_array<std::uint32_t>({SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot});

constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                      CLONE_NEWPID | CLONE_NEWNET | 0x80U /* CLONE_NEWTIME, in linux/sched.h */;
constexpr std::uint32_t kSetIdBits = S_ISUID | S_ISGID;
constexpr std::uint32_t kTmpfileBit = 0x400000;  // __O_TMPFILE: its file can be linked to a name

/// A call and the argument that matters.
struct CallArgument {
  std::size_t argument;
  std::uint32_t call;
};
/// Calls with the mode of a file.
constexpr auto kModes = std::to_array<CallArgument>({
    {1, SYS_fchmod},
    {2, SYS_fchmodat},
    {2, kFchmodat2},
    {2, SYS_mknodat},
#if defined(__x86_64__)
    {1, SYS_chmod},
    {1, SYS_creat},
    {1, SYS_mknod},
#endif
});
/// Calls whose flags say whether the next argument is a mode.
constexpr auto kFlags = std::to_array<CallArgument>({
    {2, SYS_openat},
#if defined(__x86_64__)
    {1, SYS_open},
#endif
});

/// Appends instructions. All its jumps are within one test.
class Program {
 public:
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void load_argument(std::size_t index) {
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t)));
  }
  void load_upper_half(std::size_t index) {
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t) +
                                    sizeof(std::uint32_t)));
  }
  void mask(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void fail_with(int error) { answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }
  void allow() { answer(SECCOMP_RET_ALLOW); }
  /// Executes the next `count` instructions only if the test is true.
  void only_if(int test, std::uint32_t value, std::uint8_t count) { jump(test, value, 0, count); }
  void only_unless(int test, std::uint32_t value, std::uint8_t count) { jump(test, value, count, 0); }

  [[nodiscard]] std::vector<sock_filter> take() { return std::move(program_); }

 private:
  void add(int code, std::uint32_t value) {
    program_.push_back({.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = value});
  }
  void jump(int test, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    program_.push_back({.code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), .jt = yes, .jf = no, .k = value});
  }
  std::vector<sock_filter> program_;
};

/// Refuses `call` when the argument has one of the bits. The kernel reads only the low word of these arguments.
void refuse_bits(Program& program, std::uint32_t call, std::size_t argument, std::uint32_t bits) {
  program.only_if(BPF_JEQ, call, 4);
  program.load_argument(argument);
  program.only_if(BPF_JSET, bits, 1);
  program.fail_with(EPERM);
  program.allow();
}

/// Refuses to create a file with a set-id bit.
void refuse_set_id(Program& program, const CallArgument& flags) {
  program.only_if(BPF_JEQ, flags.call, 6);
  program.load_argument(flags.argument);
  program.only_if(BPF_JSET, O_CREAT | kTmpfileBit, 3);
  program.load_argument(flags.argument + 1);
  program.only_if(BPF_JSET, kSetIdBits, 1);
  program.fail_with(EPERM);
  program.allow();
}

/// Refuses to set limits of a process by its number: that could be the agent's, which has the same user. The usual
/// calls set those of their own process, 0.
void refuse_limits_of_others(Program& program) {
  program.only_if(BPF_JEQ, SYS_prlimit64, 8);
  program.load_argument(0);
  program.only_unless(BPF_JEQ, 0, 5);
  program.load_argument(2);
  program.only_if(BPF_JEQ, 0, 2);
  program.load_upper_half(2);
  program.only_unless(BPF_JEQ, 0, 1);
  program.fail_with(EPERM);
  program.allow();
}

/// Requests of file systems that every one of them may have; the others of these types are those of btrfs and bcachefs.
constexpr std::uint32_t kClone = 0x40049409;        // FICLONE
constexpr std::uint32_t kCloneRange = 0x4020940d;   // FICLONERANGE
constexpr std::uint32_t kDedupeRange = 0xc0189436;  // FIDEDUPERANGE
constexpr std::uint32_t kTypeOfRequest = 0xff00;    // _IOC_TYPE
constexpr std::uint32_t kBtrfs = 0x9400;
constexpr std::uint32_t kBcachefs = 0xbc00;

/// Refuses input for terminals (TIOCSTI, TIOCLINUX), line disciplines, and the requests by which any user of btrfs and
/// bcachefs makes subvolumes and snapshots: a read-only one could not be removed, and before the kernels of 2024 a
/// snapshot of a directory was one of all that is around it.
void filter_ioctl(Program& program) {
  program.only_if(BPF_JEQ, SYS_ioctl, 13);
  program.load_argument(1);
  program.only_unless(BPF_JEQ, TIOCSTI, 2);
  program.only_unless(BPF_JEQ, TIOCSETD, 1);
  program.only_if(BPF_JEQ, TIOCLINUX, 1);
  program.fail_with(EPERM);
  program.only_unless(BPF_JEQ, kClone, 6);
  program.only_unless(BPF_JEQ, kCloneRange, 5);
  program.only_unless(BPF_JEQ, kDedupeRange, 4);
  program.mask(kTypeOfRequest);
  program.only_unless(BPF_JEQ, kBtrfs, 1);
  program.only_if(BPF_JEQ, kBcachefs, 1);
  program.fail_with(ENOTTY);
  program.allow();
}

constexpr std::uint32_t kTypeOfSocket = 0xf;  // the other bits are flags (SOCK_CLOEXEC, SOCK_NONBLOCK)

/// Permits Unix sockets, TCP, UDP and netlink's routes. The kernel takes the low words of these arguments.
void filter_sockets(Program& program) {
  program.only_if(BPF_JEQ, SYS_socketpair, 4);
  program.load_argument(0);
  program.only_unless(BPF_JEQ, AF_UNIX, 1);
  program.fail_with(EAFNOSUPPORT);
  program.allow();
  program.only_if(BPF_JEQ, SYS_setsockopt, 6);
  program.load_argument(1);
  program.only_if(BPF_JEQ, IPPROTO_TCP, 3);
  program.load_argument(2);
  program.only_if(BPF_JEQ, TCP_ULP, 1);
  program.fail_with(ENOENT);
  program.allow();
  program.only_unless(BPF_JEQ, SYS_socket, 1);
  program.allow();
  program.load_argument(0);
  program.only_if(BPF_JEQ, AF_UNIX, 1);
  program.allow();
  program.only_if(BPF_JEQ, AF_NETLINK, 4);
  program.load_argument(2);
  program.only_unless(BPF_JEQ, NETLINK_ROUTE, 1);
  program.fail_with(EPROTONOSUPPORT);
  program.allow();
  program.only_unless(BPF_JEQ, AF_INET, 2);
  program.only_unless(BPF_JEQ, AF_INET6, 1);
  program.fail_with(EAFNOSUPPORT);
  for (const auto& [type, protocol] :
       {std::pair{std::uint32_t{SOCK_STREAM}, IPPROTO_TCP}, std::pair{std::uint32_t{SOCK_DGRAM}, IPPROTO_UDP}}) {
    program.load_argument(1);
    program.mask(kTypeOfSocket);
    program.only_if(BPF_JEQ, type, 5);
    program.load_argument(2);
    program.only_unless(BPF_JEQ, IPPROTO_IP, 2);
    program.only_unless(BPF_JEQ, static_cast<std::uint32_t>(protocol), 1);
    program.fail_with(EPROTONOSUPPORT);
    program.allow();
  }
  program.fail_with(EPROTONOSUPPORT);
}

}  // namespace

std::vector<sock_filter> create_filter() {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.only_unless(BPF_JEQ, kArchitecture, 1);
  program.fail_with(ENOSYS);
  program.load_number();
  program.only_if(BPF_JGT, kLastKnown, 1);
  program.fail_with(ENOSYS);
  for (const std::uint32_t call : kAbsent) {
    program.only_if(BPF_JEQ, call, 1);
    program.fail_with(ENOSYS);
  }
  for (const std::uint32_t call : kRefusedCalls) {
    program.only_if(BPF_JEQ, call, 1);
    program.fail_with(EPERM);
  }
  for (const CallArgument& mode : kModes) refuse_bits(program, mode.call, mode.argument, kSetIdBits);
  for (const CallArgument& flags : kFlags) refuse_set_id(program, flags);
  refuse_bits(program, SYS_unshare, 0, kNamespaces);
  refuse_bits(program, SYS_clone, 0, kNamespaces & ~0x80U);  // here the low byte is the exit signal
  refuse_limits_of_others(program);
  filter_ioctl(program);
  filter_sockets(program);
  return program.take();
}

}  // namespace skiff::container::box
