#include "fs/content/kernel_file.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 10U;

bool is_of_sysfs(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 && info.f_type == SYSFS_MAGIC;
}

/// Files of sysfs(5) state a page as their size, other kernel files 0, as an empty file does. Private files are not
/// read at all, because reading consumes the content of some.
Result<bool> is_kernel_file(int fd, const Entry& entry) {
  if (entry.size != 0) {
    return entry.size == static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) && is_of_sysfs(fd);
  }
  if (is_private_to_kernel(fd, entry.mode)) {
    return fail(Errc::permission_denied, "not every user may read this kernel file");
  }
  char first = 0;
  SKIFF_TRY(const auto got, read_at(fd, 0, {&first, 1}));
  if (got == 0) return false;
  SKIFF_TRY(const auto now, status_of(fd));
  return now.st_size == 0;  // else a process has just written to it
}

}  // namespace

Result<UniqueFd> copy_of_kernel_file(int fd, const Entry& entry) {
  SKIFF_TRY(const bool is_one, is_kernel_file(fd, entry));
  if (!is_one) return UniqueFd{};
  UniqueFd copy{::memfd_create("skiff-kernel-file", MFD_CLOEXEC)};
  if (!copy) return std::unexpected{system_error(errno, "copy a kernel file")};
  const auto memory = std::make_unique_for_overwrite<char[]>(kCopiedAtOnce);
  const std::span<char> block{memory.get(), kCopiedAtOnce};
  for (std::size_t copied = 0;;) {
    SKIFF_TRY(const auto got, read_at(fd, copied, block));
    copied += got;
    if (copied > kMostOfKernelFile) {
      return fail(Errc::not_a_regular_file,
                  "the kernel makes this file as it is read, and it has more than 4 MiB: "
                  "read it by a command");
    }
    if (const int error = write_all(copy.get(), block.first(got)); error != 0) {
      return std::unexpected{system_error(error, "copy a kernel file")};
    }
    if (got < block.size()) return copy;
  }
}

}  // namespace skiff::fs
