#include "fs/content/append.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/content/in_place.hpp"
#include "fs/content/write.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/name_lock.hpp"

namespace skiff::fs {

Appender::Appender(std::string path, Location location, UniqueFd fd, std::optional<std::uint64_t> offset, bool created)
    : path_{std::move(path)}, location_{std::move(location)}, fd_{std::move(fd)}, offset_{offset}, created_{created} {}

Result<Appender> Appender::begin(const Tree& tree, std::string_view path, AppendOptions options,
                                 const std::stop_token& stop) {
  SKIFF_TRY(auto location, tree.locate(path, Links::follow, options.parents));
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  SKIFF_TRY(auto target, check_file_target(location, options.conditions, path, stop));

  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const bool create = !target.has_value();
  UniqueFd fd;
  if (!create || options.offset.value_or(0) == 0) {
    fd.reset(::openat(location.parent.get(), location.name.c_str(), kFlags | (create ? O_CREAT | O_EXCL : 0), 0666));
    if (!fd) return std::unexpected{system_error(errno, "open " + in_quotes(path))};
    SKIFF_TRY(auto status, status_of(fd.get()));
    SKIFF_TRY_VOID(check_regular(status.st_mode, path));
    if (is_private_to_kernel(fd.get(), status.st_mode)) {
      return fail(Errc::permission_denied, "append to " + in_quotes(path) + ": this kernel file is private");
    }
    if (create && options.mode && ::fchmod(fd.get(), *options.mode & 07777U) != 0) {
      return std::unexpected{system_error(errno, "set the mode of " + in_quotes(path))};
    }
  }
  Appender appender{std::string{path}, std::move(location), std::move(fd), options.offset, create};
  // This reads the size; check() and write() report a mismatch.
  auto checked = appender.check_locked();
  if (!checked && checked.error().code != Errc::append_offset_mismatch) {
    return std::unexpected{std::move(checked.error())};
  }
  return appender;
}

Result<> Appender::check() {
  SKIFF_TRY(auto lock, NameLock::of(location_.parent.get(), location_.name));
  return check_locked();
}

Result<> Appender::check_locked() {
  struct stat named{};
  const bool exists = ::fstatat(location_.parent.get(), location_.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  size_ = exists ? static_cast<std::uint64_t>(named.st_size) : 0;
  bool same = false;
  if (fd_) {
    SKIFF_TRY(auto status, status_of(fd_.get()));
    same = exists && same_object(status, named);
  }
  if (!same) {
    return fail(Errc::append_offset_mismatch, in_quotes(path_) + (exists ? " was replaced" : " does not exist"),
                "offset");
  }
  if (offset_ && *offset_ != size_) {
    return fail(Errc::append_offset_mismatch,
                in_quotes(path_) + " ends at " + std::to_string(size_) + ", not at " + std::to_string(*offset_),
                "offset");
  }
  return {};
}

Result<> Appender::write(std::span<const char> bytes) {
  SKIFF_TRY(auto lock, NameLock::of(location_.parent.get(), location_.name));
  SKIFF_TRY_VOID(check_locked());
  SKIFF_TRY_VOID(take_set_id(fd_.get(), path_));
  if (const int error = write_all(fd_.get(), bytes); error != 0) {
    // The bytes that were written stay, as after a broken connection: the client asks for the size and continues there.
    return std::unexpected{system_error(error, "append to " + in_quotes(path_))};
  }
  size_ += bytes.size();
  if (offset_) offset_ = size_;
  return {};
}

Result<Written> Appender::finish() {
  SKIFF_TRY(auto lock, NameLock::of(location_.parent.get(), location_.name));
  SKIFF_TRY_VOID(check_locked());
  // The agent can write to another user's file but not stamp it; such a file has a tag by content while it is fresh.
  auto stamped = stamp(fd_.get());
  if (!stamped && stamped.error().code != Errc::permission_denied) return std::unexpected{std::move(stamped.error())};
  return written(fd_.get(), created_);
}

}  // namespace skiff::fs
