#include "fs/tree/copy.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "fs/content/in_place.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/owner.hpp"
#include "fs/path/stop.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kMostCopyDepth = 128;  // four descriptors each
constexpr std::size_t kCopyBlock = 256 * 1024;
constexpr off_t kKernelPiece = 64 << 20;  // bytes of a file between two checks whether the copy is still wanted

std::unexpected<Error> failed(const std::string& name) {
  return std::unexpected{system_error(errno, "copy " + in_quotes(name))};
}

class Copy {
 public:
  Copy(Keep keep, const std::stop_token& stop) : keep_{keep}, stop_{stop} {}

  Result<> run(int object, const std::string& name, int to_directory, const std::string& to) {
    if (stop_.stop_requested()) return stopped_error();
    SKIFF_TRY(auto status, status_of(object));
    if (S_ISDIR(status.st_mode)) return copy_directory(object, status, name, to_directory, to);
    if (S_ISLNK(status.st_mode)) return copy_link(object, status, to_directory, to);
    // A copied tree may leave special files out; a move would lose them.
    if (!S_ISREG(status.st_mode) && top_ && keep_ == Keep::mode) {
      ++special_;
      return {};
    }
    SKIFF_TRY_VOID(check_regular(status.st_mode, name));
    return copy_file(object, status, name, to_directory, to);
  }
  [[nodiscard]] std::uint64_t special() const noexcept { return special_; }

 private:
  Result<> copy_file(int object, const struct stat& status, const std::string& name, int to_directory,
                     const std::string& to) const {
    const UniqueFd in = reopen(object, O_RDONLY);
    if (!in) return failed(name);
    // Do not copy private files of the kernel: only this process may read them, commands may not.
    if (status.st_size == 0 && is_private_to_kernel(in.get(), status.st_mode)) {
      return fail(Errc::permission_denied, "copy " + in_quotes(name) + ": not every user may read this kernel file");
    }
    const UniqueFd out{::openat(to_directory, to.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600)};
    if (!out) return failed(to);
    SKIFF_TRY_VOID(copy_bytes(in.get(), out.get(), stop_));
    return set_attributes_of(out.get(), status, name);
  }

  Result<> copy_link(int object, const struct stat& status, int to_directory, const std::string& to) const {
    std::array<char, kMostPathBytes + 1> target;
    const ssize_t size = ::readlinkat(object, "", target.data(), target.size() - 1);
    if (size < 0) return failed(to);
    target[static_cast<std::size_t>(size)] = '\0';
    // Set the owner at creation, where the agent may: later the name may lead to another user's file.
    std::optional<MadeFor> owner;
    if (keep_ == Keep::everything && ::geteuid() == 0) {
      if (auto made = MadeFor::begin(status.st_uid, status.st_gid, to)) owner.emplace(std::move(*made));
    }
    if (::symlinkat(target.data(), to_directory, to.c_str()) != 0) return failed(to);
    if (keep_ == Keep::everything) set_link_times(to_directory, to, std::array{status.st_atim, status.st_mtim});
    return {};
  }

  Result<> copy_directory(int object, const struct stat& status, const std::string& name, int to_directory,
                          const std::string& to) {
    if (top_ && same_object(*top_, status)) {
      return fail(Errc::invalid_field, "copy " + in_quotes(name) + ": a directory can't be copied into itself", "to");
    }
    if (depth_ == kMostCopyDepth)
      return fail(Errc::name_too_long, "copy " + in_quotes(name) + ": the directories are nested too deeply");
    // Only the agent may use the directory until it is complete.
    const UniqueFd made = create_private_directory(to_directory, to);
    if (!made) return failed(to);
    if (!top_) {
      SKIFF_TRY(top_, status_of(made.get()));
    }
    ++depth_;
    SKIFF_TRY(auto reader, DirectoryReader::open(object));
    for (DirectoryReader::Name found;;) {
      SKIFF_TRY(auto got, reader.next(found));
      if (!got) break;
      const std::string child{found.name};
      const UniqueFd inside{::openat(object, child.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
      if (!inside && errno == ENOENT) continue;  // gone meanwhile
      if (!inside) return failed(child);
      if (keep_ == Keep::everything && is_mount_point(object, child)) {
        return std::unexpected{system_error(EBUSY, "move " + in_quotes(child) + ", which is a mount")};
      }
      SKIFF_TRY_VOID(run(inside.get(), child, made.get(), child));
    }
    --depth_;
    return set_attributes_of(made.get(), status, name);
  }

  Result<> set_attributes_of(int fd, const struct stat& status, const std::string& name) const {
    mode_t mode = status.st_mode & 01777U;
    if (keep_ == Keep::everything) {
      if (::fchown(fd, status.st_uid, status.st_gid) == 0) mode = status.st_mode & 07777U;
    }
    if (::fchmod(fd, mode) != 0) return failed(name);
    if (keep_ == Keep::everything) {
      const std::array times{status.st_atim, status.st_mtim};
      if (::futimens(fd, times.data()) != 0) return failed(name);
    }
    return {};
  }

  Keep keep_;
  const std::stop_token& stop_;
  std::optional<struct stat> top_;  // status of the new top directory: a copy that reaches it would never end
  std::size_t depth_ = 0;
  std::uint64_t special_ = 0;
};

/// Copies the bytes from `at` to `end`, fewer if the file was truncated meanwhile; advances `at`.
Result<> copy_range(int from, int to, off_t& at, off_t end, const std::stop_token& stop) {
  while (at < end) {
    if (stop.stop_requested()) return stopped_error();
    off_t in = at;
    off_t out = at;
    const auto piece = static_cast<std::size_t>(std::min<off_t>(end - at, kKernelPiece));
    const ssize_t size = ::copy_file_range(from, &in, to, &out, piece, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EXDEV && !means_unsupported(errno)) {
      return std::unexpected{system_error(errno, "copy a file")};
    }
    if (size <= 0) break;
    at += size;
  }
  const auto buffer = at < end ? std::make_unique_for_overwrite<char[]>(kCopyBlock) : nullptr;
  while (at < end) {
    if (stop.stop_requested()) return stopped_error();
    const auto wanted = static_cast<std::size_t>(std::min<off_t>(end - at, kCopyBlock));
    SKIFF_TRY(auto got, read_at(from, static_cast<std::uint64_t>(at), {buffer.get(), wanted}));
    if (got == 0) return {};
    if (::lseek(to, at, SEEK_SET) < 0) return std::unexpected{system_error(errno, "copy a file")};
    if (const int error = write_all(to, {buffer.get(), got}); error != 0) {
      return std::unexpected{system_error(error, "copy a file")};
    }
    at += static_cast<off_t>(got);
  }
  return {};
}

}  // namespace

Result<> copy_bytes(int from, int to, const std::stop_token& stop) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  SKIFF_TRY(auto status, status_of(from));
  // Files of /proc state a size of 0: read them to their end.
  const off_t size = status.st_size > 0 ? status.st_size : std::numeric_limits<off_t>::max();
  off_t at = 0;
  while (at < size) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO && status.st_size > 0) break;  // a hole up to the end
    if (data < 0) data = at;                                      // the file system does not know holes
    const off_t hole = ::lseek(from, data, SEEK_HOLE);
    const off_t end = hole > data && status.st_size > 0 ? std::min(hole, size) : size;
    at = data;
    SKIFF_TRY_VOID(copy_range(from, to, at, end, stop));
    if (at < end) return {};  // the file was truncated meanwhile, or has come to its end
  }
  if (::ftruncate(to, size) != 0) return std::unexpected{system_error(errno, "copy a file")};
  return {};
}

Result<std::uint64_t> copy_tree(int object, const std::string& name, int to_directory, const std::string& to, Keep keep,
                                const std::stop_token& stop) {
  Copy copy{keep, stop};
  SKIFF_TRY_VOID(copy.run(object, name, to_directory, to));
  return copy.special();
}

}  // namespace skiff::fs
