#pragma once

#include <cstddef>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/content/entry.hpp"

namespace skiff::fs {

/// The largest file of the kernel's that is taken, in bytes.
inline constexpr std::size_t kMostOfKernelFile = std::size_t{4} << 20U;

/// Files under /proc and /sys are made as they are read, and say nothing true of their size: 0, or a page. What such a
/// file holds now, in memory of its own, which has the right size; an empty descriptor for any other regular file.
/// Errors: permission_denied for what tells of this process, and for what not everybody may read (a command may not
/// either: this process is not dumpable); not_a_regular_file above `kMostOfKernelFile`; those of read(2).
[[nodiscard]] Result<UniqueFd> copy_of_kernel_file(int fd, const Entry& entry);

}  // namespace skiff::fs
