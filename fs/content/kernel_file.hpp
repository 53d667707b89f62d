#pragma once

#include <cstddef>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/content/entry.hpp"

namespace skiff::fs {

/// The largest kernel file that is copied, in bytes.
inline constexpr std::size_t kMostOfKernelFile = std::size_t{4} << 20U;

/// Copies a file under /proc or /sys into memory. The kernel generates such files on reading, and their stated size is
/// wrong: 0, or a page; the copy has the right size. Returns an empty descriptor for any other regular file. Errors:
/// permission_denied for files about this process and for files that not every user may read (commands may not either:
/// this process is not dumpable); not_a_regular_file above `kMostOfKernelFile`; those of read(2).
[[nodiscard]] Result<UniqueFd> copy_of_kernel_file(int fd, const Entry& entry);

}  // namespace skiff::fs
