#include "container/drivers/box/confine.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/kernel_features.hpp"
#include "base/unique_fd.hpp"
#include "container/drivers/box/filter.hpp"
#include "container/drivers/box/support.hpp"

namespace skiff::container::box {
namespace {

// Constants of landlock(7), because the headers of Debian 12 have not all of them.
constexpr std::uint64_t kExecuteFile = 1U << 0U, kWriteToFile = 1U << 1U, kReadFromFile = 1U << 2U,
                        kListDirectory = 1U << 3U, kTruncate = 1U << 14U, kIoctl = 1U << 15U;
constexpr std::uint64_t kReadAccess = kExecuteFile | kReadFromFile | kListDirectory;
constexpr std::uint64_t kBothScopes = 3;  ///< abstract Unix sockets and signals
constexpr int kFirstWithMoves = 2;
constexpr int kFirstWithScopes = 6;
constexpr int kRuleOfPath = 1;
constexpr rlim_t kMostLocked = rlim_t{8} << 20U;  ///< bytes of memory that is never swapped
constexpr rlim_t kMostInQueues = 819'200;         ///< bytes in POSIX message queues, as usual
constexpr rlim_t kMostSignals = 8192;             ///< signals that wait for a program

struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};

struct [[gnu::packed]] BeneathRule {
  std::uint64_t allowed = 0;
  std::int32_t directory = -1;
};

/// All rights of files that a version knows.
std::uint64_t rights_of(int version) {
  if (version >= 5) return (1U << 16U) - 1;
  return version >= 3 ? (1U << 15U) - 1 : (1U << 14U) - 1;
}

struct Writable {
  const char* path;
  bool is_whole;  ///< else its files can be written to, and none can be created
};
constexpr std::array kWritable{Writable{"/home/user", true}, Writable{"/workspace", true}, Writable{"/tmp", true},
                               Writable{"/var/tmp", true},   Writable{"/run", true},       Writable{"/dev/shm", true},
                               Writable{"/dev", false},      Writable{"/proc", false}};

bool allow_beneath(int ruleset, const char* path, std::uint64_t rights) {
  const UniqueFd directory{::open(path, O_PATH | O_CLOEXEC)};
  if (!directory && errno == ENOENT) return true;
  const BeneathRule rule{.allowed = rights, .directory = directory.get()};
  return directory && ::syscall(SYS_landlock_add_rule, ruleset, kRuleOfPath, &rule, 0) == 0;
}

/// Lowers a limit, for good, to `most` or to a part of what we have, whichever is less.
bool limit(__rlimit_resource what, rlim_t most, rlim_t part) noexcept {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return false;
  const rlim_t ours = now.rlim_max == RLIM_INFINITY ? most : now.rlim_max / part;
  now.rlim_max = now.rlim_cur = ours < most ? ours : most;
  return ::setrlimit(what, &now) == 0;
}

}  // namespace

bool drop_privileges() noexcept {
  // Until EINVAL: the kernel has no more capabilities.
  for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  if (errno != EINVAL) return false;
  constexpr unsigned long kLocked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kLocked, 0, 0, 0) != 0) return false;
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return false;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool set_limits(std::uint64_t most_processes) noexcept {
  // A core size of 1 makes the kernel call no handler in core_pattern (core(5)), which would run outside.
  return limit(RLIMIT_CORE, 1, 1) && limit(RLIMIT_RTPRIO, 0, 1) && limit(RLIMIT_NICE, 0, 1) &&
         limit(RLIMIT_MEMLOCK, kMostLocked, 1) && limit(RLIMIT_MSGQUEUE, kMostInQueues, 2) &&
         limit(RLIMIT_SIGPENDING, kMostSignals, 2) &&
         (kernel_version() < 5014 || limit(RLIMIT_NPROC, most_processes, 2));
}

void leave_keyring() noexcept {
  // A kernel without keyrings has no keys.
  (void)::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0);
}

bool restrict_files() noexcept {
  const int version = kernel_features().landlock_abi;
  if (version < kFirstWithMoves) return true;
  const std::uint64_t all = rights_of(version);
  const Ruleset attributes{.files = all, .network = 0, .scopes = version >= kFirstWithScopes ? kBothScopes : 0};
  // Older kernels know a shorter struct.
  const std::size_t size = version >= kFirstWithScopes ? sizeof attributes : sizeof attributes.files;
  const UniqueFd ruleset{static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0))};
  if (!ruleset || !allow_beneath(ruleset.get(), "/", kReadAccess)) return false;
  for (const Writable& one : kWritable) {
    const std::uint64_t rights = one.is_whole ? all : kReadAccess | kWriteToFile | kTruncate | kIoctl;
    if (!allow_beneath(ruleset.get(), one.path, rights & all)) return false;
  }
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

bool filter_calls() {
  std::vector<sock_filter> program = create_filter();
  const sock_fprog whole{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0;
}

}  // namespace skiff::container::box
