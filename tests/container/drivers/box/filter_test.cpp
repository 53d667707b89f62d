#include "container/drivers/box/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kThisMachine = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kThisMachine = AUDIT_ARCH_AARCH64;
#endif
constexpr int kAllowed = 0;

/// What the kernel does with the program (linux/filter.h): the errno value that the call gets, 0 if it is made.
int judge(const seccomp_data& call) {
  static const std::vector<sock_filter> program = create_filter();
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + step.k, sizeof accumulator);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_K | BPF_JEQ:
        at += accumulator == step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_K | BPF_JGT:
        at += accumulator > step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_K | BPF_JSET:
        at += (accumulator & step.k) != 0 ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k == SECCOMP_RET_ALLOW ? kAllowed : static_cast<int>(step.k & SECCOMP_RET_DATA);
      default:
        ADD_FAILURE() << "unknown instruction " << step.code;
        return -1;
    }
  }
  ADD_FAILURE() << "the program has no end";
  return -1;
}

int judge(long number, std::array<std::uint64_t, 6> arguments = {}, std::uint32_t architecture = kThisMachine) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = architecture;
  std::memcpy(call.args, arguments.data(), sizeof call.args);
  return judge(call);
}

TEST(BoxFilter, AllowsWhatProgramsNeed) {
  for (const long number : {SYS_read, SYS_write, SYS_execve, SYS_mmap, SYS_futex, SYS_ptrace, SYS_seccomp, SYS_prctl,
                            SYS_landlock_restrict_self, SYS_pidfd_open, SYS_close_range, SYS_memfd_create}) {
    EXPECT_EQ(judge(number), kAllowed) << number;
  }
}

TEST(BoxFilter, HidesWhatABoxDoesNotNeed) {
  for (const long number : {SYS_clone3,          SYS_openat2,        SYS_bpf,
                            SYS_io_uring_setup,  SYS_io_uring_enter, SYS_userfaultfd,
                            SYS_perf_event_open, SYS_keyctl,         SYS_add_key,
                            SYS_request_key,     SYS_setns,          SYS_fsopen,
                            SYS_open_tree,       SYS_move_mount,     SYS_mount_setattr,
                            SYS_kexec_load,      SYS_init_module,    SYS_open_by_handle_at,
                            SYS_pidfd_getfd,     SYS_io_setup}) {
    EXPECT_EQ(judge(number), ENOSYS) << number;
  }
  EXPECT_EQ(judge(467), ENOSYS) << "open_tree_attr";
}

TEST(BoxFilter, HidesCallsThatAreNewerThanItselfAndThoseOfOtherMachines) {
  EXPECT_EQ(judge(470), ENOSYS);
  EXPECT_EQ(judge(100'000), ENOSYS);
  EXPECT_EQ(judge(0x40000000 + SYS_read), ENOSYS) << "x32";
  EXPECT_EQ(judge(-1), ENOSYS);
  EXPECT_EQ(judge(3, {}, AUDIT_ARCH_I386), ENOSYS);
  EXPECT_EQ(judge(3, {}, AUDIT_ARCH_ARM), ENOSYS);
}

TEST(BoxFilter, RefusesNamespacesAndMounts) {
  for (const long number : {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot}) EXPECT_EQ(judge(number), EPERM);
  for (const std::uint64_t flag :
       {std::uint64_t{CLONE_NEWUSER}, std::uint64_t{CLONE_NEWNS}, std::uint64_t{CLONE_NEWPID},
        std::uint64_t{CLONE_NEWNET}, std::uint64_t{CLONE_NEWIPC}, std::uint64_t{CLONE_NEWUTS},
        std::uint64_t{CLONE_NEWCGROUP}}) {
    EXPECT_EQ(judge(SYS_unshare, {flag}), EPERM) << flag;
    EXPECT_EQ(judge(SYS_clone, {flag | SIGCHLD}), EPERM) << flag;
  }
  EXPECT_EQ(judge(SYS_unshare, {0x80}), EPERM) << "CLONE_NEWTIME";
  EXPECT_EQ(judge(SYS_unshare, {CLONE_FILES}), kAllowed);
  EXPECT_EQ(judge(SYS_clone, {SIGCHLD}), kAllowed);
  EXPECT_EQ(judge(SYS_clone, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD}), kAllowed);
}

TEST(BoxFilter, RefusesSetIdBitsInEveryCallThatTakesAMode) {
  for (const std::uint64_t mode : {04755U, 02755U, 06000U}) {
    EXPECT_EQ(judge(SYS_fchmod, {0, mode}), EPERM);
    EXPECT_EQ(judge(SYS_fchmodat, {0, 0, mode}), EPERM);
    EXPECT_EQ(judge(452, {0, 0, mode}), EPERM) << "fchmodat2";
    EXPECT_EQ(judge(SYS_openat, {0, 0, O_CREAT, mode}), EPERM);
    EXPECT_EQ(judge(SYS_openat, {0, 0, O_TMPFILE | O_RDWR, mode}), EPERM);
    EXPECT_EQ(judge(SYS_mknodat, {0, 0, mode}), EPERM);
#if defined(__x86_64__)
    EXPECT_EQ(judge(SYS_chmod, {0, mode}), EPERM);
    EXPECT_EQ(judge(SYS_open, {0, O_CREAT, mode}), EPERM);
    EXPECT_EQ(judge(SYS_creat, {0, mode}), EPERM);
    EXPECT_EQ(judge(SYS_mknod, {0, mode}), EPERM);
#endif
  }
  EXPECT_EQ(judge(SYS_fchmodat, {0, 0, 01777}), kAllowed);
  EXPECT_EQ(judge(SYS_openat, {0, 0, O_CREAT, 0644}), kAllowed);
  EXPECT_EQ(judge(SYS_openat, {0, 0, O_RDONLY, ~std::uint64_t{0}}), kAllowed) << "without O_CREAT there is no mode";
}

TEST(BoxFilter, RefusesInputForTerminals) {
  EXPECT_EQ(judge(SYS_ioctl, {0, TIOCSTI}), EPERM);
  EXPECT_EQ(judge(SYS_ioctl, {0, 0x541C}), EPERM) << "TIOCLINUX";
  EXPECT_EQ(judge(SYS_ioctl, {0, (std::uint64_t{1} << 32U) | TIOCSTI}), EPERM) << "the kernel reads 32 bits";
  EXPECT_EQ(judge(SYS_ioctl, {0, TIOCSETD}), EPERM) << "line disciplines";
  EXPECT_EQ(judge(SYS_ioctl, {0, TIOCGWINSZ}), kAllowed);
}

TEST(BoxFilter, RefusesSubvolumesAndSnapshots) {
  constexpr std::uint64_t kSnapCreate = 0x50009401, kSubvolCreate = 0x5000940e, kSubvolSetflags = 0x4008941a;
  for (const std::uint64_t request : {kSnapCreate, kSubvolCreate, kSubvolSetflags, std::uint64_t{0x4020bc10}}) {
    EXPECT_EQ(judge(SYS_ioctl, {0, request}), ENOTTY) << request;
  }
  for (const std::uint64_t request : {0x40049409U, 0x4020940dU, 0xc0189436U}) {
    EXPECT_EQ(judge(SYS_ioctl, {0, request}), kAllowed) << "clones of files: " << request;
  }
}

TEST(BoxFilter, KnowsFourFamiliesOfSockets) {
  for (const unsigned family : std::initializer_list<unsigned>{AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
    EXPECT_EQ(judge(SYS_socket, {family, SOCK_STREAM}), kAllowed) << family;
  }
  for (const unsigned family :
       std::initializer_list<unsigned>{AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_TIPC, AF_XDP, AF_KEY, AF_RDS}) {
    EXPECT_EQ(judge(SYS_socket, {family, SOCK_STREAM}), EAFNOSUPPORT) << family;
    EXPECT_EQ(judge(SYS_socketpair, {family, SOCK_STREAM}), EAFNOSUPPORT) << family;
  }
}

TEST(BoxFilter, KnowsTcpUdpAndRoutes) {
  for (const unsigned family : std::initializer_list<unsigned>{AF_INET, AF_INET6}) {
    EXPECT_EQ(judge(SYS_socket, {family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP}), kAllowed);
    EXPECT_EQ(judge(SYS_socket, {family, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP}), kAllowed);
    EXPECT_EQ(judge(SYS_socket, {family, SOCK_DGRAM, 0}), kAllowed);
    for (const int protocol :
         std::initializer_list<int>{IPPROTO_SCTP, IPPROTO_DCCP, IPPROTO_UDPLITE, 262, IPPROTO_ICMP}) {
      for (const unsigned type : std::initializer_list<unsigned>{SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_DCCP}) {
        EXPECT_EQ(judge(SYS_socket, {family, type, static_cast<unsigned>(protocol)}), EPROTONOSUPPORT) << protocol;
      }
    }
    for (const unsigned type : std::initializer_list<unsigned>{SOCK_RAW, SOCK_SEQPACKET, SOCK_PACKET, SOCK_RDM}) {
      EXPECT_EQ(judge(SYS_socket, {family, type, 0}), EPROTONOSUPPORT) << type;
    }
  }
  for (unsigned protocol = 1; protocol < 32; ++protocol) {
    EXPECT_EQ(judge(SYS_socket, {AF_NETLINK, SOCK_RAW, protocol}), EPROTONOSUPPORT) << protocol;
  }
  EXPECT_EQ(judge(SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}), kAllowed);
  EXPECT_EQ(judge(SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}), kAllowed);
  EXPECT_EQ(judge(SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}), kAllowed);
}

TEST(BoxFilter, RefusesLimitsOfOtherProcesses) {
  EXPECT_EQ(judge(SYS_prlimit64, {1, 7, 0x7fff'0000'1000}), EPERM);
  EXPECT_EQ(judge(SYS_prlimit64, {1, 7, std::uint64_t{1} << 32U}), EPERM);
  EXPECT_EQ(judge(SYS_prlimit64, {0, 7, 0x7fff'0000'1000}), kAllowed);
  EXPECT_EQ(judge(SYS_prlimit64, {1, 7, 0, 0x7fff'0000'1000}), kAllowed) << "reading";
}

TEST(BoxFilter, RefusesTlsInTheKernel) {
  EXPECT_EQ(judge(SYS_setsockopt, {3, IPPROTO_TCP, 31 /* TCP_ULP */}), ENOENT);
  EXPECT_EQ(judge(SYS_setsockopt, {3, IPPROTO_TCP, 1}), kAllowed);
  EXPECT_EQ(judge(SYS_setsockopt, {3, SOL_SOCKET, 31}), kAllowed);
}

}  // namespace
}  // namespace skiff::container::box
