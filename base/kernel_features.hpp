#pragma once

namespace skiff {

/// The system calls that this kernel and its seccomp filter allow. Container runtimes hide a system call by ENOSYS,
/// older ones by EPERM: both mean absent.
struct KernelFeatures {
  bool pidfd = false;        ///< pidfd_open(2) and pidfd_send_signal(2)
  bool close_range = false;  ///< close_range(2) with CLOSE_RANGE_UNSHARE
  bool clone3 = false;       ///< clone3(2)
  bool openat2 = false;      ///< openat2(2)
  int landlock_abi = 0;      ///< version; 0: absent
  bool call_filter = false;  ///< seccomp(2) with filters that fail calls

  bool operator==(const KernelFeatures&) const = default;
};

[[nodiscard]] const KernelFeatures& kernel_features();

/// Asks the kernel now; `kernel_features` asks once.
[[nodiscard]] KernelFeatures probe_kernel_features();

}  // namespace skiff
