#pragma once

#include <sys/stat.h>

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Returns the name of an open descriptor under /proc. Following it reaches the object of the descriptor, whatever has
/// happened to the object's name since.
[[nodiscard]] std::string proc_path(int fd);

/// Opens the object behind an O_PATH descriptor with `flags` (O_RDONLY, O_WRONLY|O_APPEND, ...; O_NONBLOCK, O_NOCTTY
/// and O_CLOEXEC are added). Files need /proc. Fails with errno set.
[[nodiscard]] UniqueFd reopen(int fd, int flags);

/// Calls fstat(2), which fails on an open descriptor only with a broken disk or network (EIO).
[[nodiscard]] Result<struct stat> status_of(int fd);

[[nodiscard]] inline bool same_object(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Fails with not_a_regular_file or is_a_directory unless it is a regular file. `path` is for the message.
[[nodiscard]] Result<> check_regular(mode_t mode, std::string_view path);

/// Whether it is a file under /proc about this process, or one that not every user may read. Commands may not read such
/// files either, as this process is not dumpable.
[[nodiscard]] bool is_private_to_kernel(int fd, mode_t mode);

/// Whether this error of a system call means that the kernel, its seccomp filter or the file system lacks the call, so
/// that a fallback is needed.
[[nodiscard]] bool means_unsupported(int error);

}  // namespace skiff::fs
