#pragma once

#include <linux/filter.h>

#include <vector>

namespace skiff::container::box {

/// The seccomp filter (seccomp(2)) of a whole box, skiffd included. It takes away what a box does not need and what the
/// kernel's bugs of the last years were reached by:
/// - ENOSYS: other architectures, calls that are newer than this filter, and those that programs can do without, such
///   as io_uring, bpf and the keyrings. clone3 and openat2 are among them, because their flags are in memory, where a
///   filter cannot read them: programs fall back to clone and openat.
/// - EPERM: namespaces, mounts, limits of other processes, and files with set-user-id or set-group-id bits, which would
/// work outside the box, too.
/// - ENOTTY: subvolumes and snapshots of btrfs and bcachefs.
/// - EAFNOSUPPORT: sockets of families that network namespaces do not separate, such as AF_VSOCK.
/// - EPROTONOSUPPORT: all of IP but TCP and UDP (no raw sockets, SCTP, DCCP, MPTCP), all of netlink but routes.
/// - ENOENT: TLS in the kernel (TCP_ULP), as without its module.
[[nodiscard]] std::vector<sock_filter> create_filter();

}  // namespace skiff::container::box
