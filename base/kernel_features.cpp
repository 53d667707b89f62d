#include "base/kernel_features.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/unique_fd.hpp"

namespace skiff {
namespace {

bool has_pidfd() {
  const UniqueFd self{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  // Signal 0 only checks.
  return self && ::syscall(SYS_pidfd_send_signal, self.get(), 0, nullptr, 0) == 0;
}

bool has_close_range() {
  // The kernel refuses an empty range before it does anything; a valid call would give this thread its own descriptor
  // table.
  return ::syscall(SYS_close_range, 1, 0, CLOSE_RANGE_UNSHARE) == -1 && errno == EINVAL;
}

bool has_clone3() {
  return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == EINVAL;
}

bool has_openat2() {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const UniqueFd root{static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how))};
  return static_cast<bool>(root);
}

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return static_cast<int>(std::max(version, 0L));
}

bool has_call_filter() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

}  // namespace

KernelFeatures probe_kernel_features() {
  return {.pidfd = has_pidfd(),
          .close_range = has_close_range(),
          .clone3 = has_clone3(),
          .openat2 = has_openat2(),
          .landlock_abi = landlock_version(),
          .call_filter = has_call_filter()};
}

const KernelFeatures& kernel_features() {
  static const KernelFeatures features = probe_kernel_features();
  return features;
}

}  // namespace skiff
