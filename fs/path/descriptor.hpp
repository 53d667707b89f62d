#pragma once

#include <sys/stat.h>

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// The name under which /proc shows an open descriptor of this process. Following it reaches the very object that the
/// descriptor holds, whatever has happened to its name since.
[[nodiscard]] std::string proc_path(int fd);

/// The object behind an O_PATH descriptor, opened with `flags` (O_RDONLY, O_WRONLY|O_APPEND, ...; O_NONBLOCK, O_NOCTTY
/// and O_CLOEXEC are added). Files need /proc. Fails with errno set.
[[nodiscard]] UniqueFd reopen(int fd, int flags);

/// fstat(2) that can't fail on an open descriptor, short of a broken disk or network: then EIO's error.
[[nodiscard]] Result<struct stat> status_of(int fd);

[[nodiscard]] inline bool same_object(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// not_a_regular_file or is_a_directory, unless it is a regular file. `path` is for the message.
[[nodiscard]] Result<> check_regular(mode_t mode, std::string_view path);

/// Whether it is a file under /proc that tells of this process, or that not everybody may read: commands may not
/// either, as this process is not dumpable.
[[nodiscard]] bool is_private_to_kernel(int fd, mode_t mode);

/// Whether this error of a system call means that the kernel, the filter in front of it or the file system lacks the
/// call, so that another way must be tried.
[[nodiscard]] bool means_unsupported(int error);

}  // namespace skiff::fs
