#include "fs/content/in_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kInPlaceBlock = 256 * 1024;

std::unexpected<Error> failed_in_place(int error, std::string_view path, const char* why) {
  return std::unexpected{system_error(error, "write " + in_quotes(path) + why)};
}

}  // namespace

bool is_mount_point(int directory, const std::string& name) {
  struct statx status{};
  return ::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_mounted(const Location& location) {
  return is_mount_point(location.parent.get(), location.name);
}

Result<StagedFor> stage_for(const Tree& tree, const Location& location, Becomes becomes, Naming naming) {
  auto staged = StagedFile::make(location.parent.get(), 0666, naming, becomes);
  if (staged) return StagedFor{.file = std::move(*staged)};
  if (staged.error().code != Errc::permission_denied || !is_mounted(location)) return std::unexpected{staged.error()};
  SKIFF_TRY(auto beside, StagedFile::make(tree.roots().front().fd.get(), 0600));
  return StagedFor{.file = std::move(beside), .elsewhere = true};
}

Result<> take_set_id(int fd, std::string_view path) {
  SKIFF_TRY(auto status, status_of(fd));
  const bool is_set_id =
      (status.st_mode & S_ISUID) != 0 || (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
  // EPERM: the agent does not own the file and lacks the right to keep the bits, so the kernel clears them on write.
  if (is_set_id && ::fchmod(fd, status.st_mode & 01777U) != 0 && errno != EPERM) {
    return std::unexpected{system_error(errno, "clear the set-id bits of " + in_quotes(path))};
  }
  return {};
}

Result<UniqueFd> write_in_place(const Location& location, int from, const Entry& expected, std::string_view path) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  UniqueFd file{::openat(location.parent.get(), location.name.c_str(), kFlags)};
  if (!file) return failed_in_place(errno, path, "");
  SKIFF_TRY(auto status, status_of(file.get()));
  SKIFF_TRY_VOID(check_regular(status.st_mode, path));
  if (status.st_ino != expected.inode || status.st_dev != expected.device) {
    return fail(Errc::precondition_failed, in_quotes(path) + " was replaced just now");
  }
  if (is_private_to_kernel(file.get(), status.st_mode)) {
    return fail(Errc::permission_denied, "write " + in_quotes(path) + ": this kernel file is private");
  }
  SKIFF_TRY(auto source, status_of(from));
  if (source.st_size > status.st_size && ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, source.st_size) != 0 &&
      (errno == ENOSPC || errno == EDQUOT)) {
    return failed_in_place(errno, path, "");
  }
  SKIFF_TRY_VOID(take_set_id(file.get(), path));
  const auto block = std::make_unique_for_overwrite<char[]>(kInPlaceBlock);
  for (off_t at = 0; at < source.st_size;) {
    const auto wanted = static_cast<std::size_t>(std::min<off_t>(source.st_size - at, kInPlaceBlock));
    SKIFF_TRY(auto got, read_at(from, static_cast<std::uint64_t>(at), {block.get(), wanted}));
    if (got == 0) return fail(Errc::io_error, "write " + in_quotes(path) + ": the new content was truncated");
    if (const int error = write_all(file.get(), {block.get(), got}); error != 0) {
      return failed_in_place(error, path, ", which is a mount and can only be written in place: a part of it was");
    }
    at += static_cast<off_t>(got);
  }
  if (::ftruncate(file.get(), source.st_size) != 0) return failed_in_place(errno, path, "");
  return file;
}

}  // namespace skiff::fs
