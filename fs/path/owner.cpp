#include "fs/path/owner.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

/// Calls capget(2) or capset(2) for this thread alone.
bool capabilities(long call, Capabilities& of) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(call, &header, of.data()) == 0;
}

/// setfsuid(2) and setfsgid(2) return the previous id and never report a failure; -1 changes nothing.
uid_t file_uid() {
  return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));
}
gid_t file_gid() {
  return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1)));
}

/// Network shares and volumes of other systems give all files one mode and one owner.
bool keeps_modes(int fd) {
  struct statfs info{};
  if (::fstatfs(fd, &info) != 0) return true;
  constexpr std::array<std::uint32_t, 8> without{0x4d44,     0x2011bab0, 0x5346544e, 0xff534d42,
                                                 0xfe534d42, 0x517b,     0x01021997, 0x65735546};
  return std::ranges::find(without, static_cast<std::uint32_t>(info.f_type)) == without.end();
}

}  // namespace

Result<MadeFor> MadeFor::begin(uid_t uid, gid_t gid, std::string_view path) {
  Capabilities own{};
  const bool known = capabilities(SYS_capget, own);
  MadeFor made{file_uid(), file_gid()};
  ::setfsgid(gid);
  ::setfsuid(uid);
  // The kernel drops the capabilities for files together with uid 0. Restore them: only the owner of new files shall
  // change, not the agent's rights.
  const bool acts = known && file_uid() == uid && file_gid() == gid && capabilities(SYS_capset, own);
  if (acts) return made;
  return std::unexpected{system_error(EPERM, "make " + in_quotes(path) + " for another user")};
}

MadeFor::~MadeFor() {
  if (!acts_) return;
  // Together with uid 0 the kernel restores the capabilities.
  ::setfsuid(uid_);
  ::setfsgid(gid_);
  if (file_uid() != uid_ || file_gid() != gid_) std::abort();  // the agent must not continue as another user
}

UniqueFd make_private_directory(int directory, const std::string& name) {
  // No directory keeps this mode, so the mode also marks the new one.
  constexpr mode_t kMark = S_ISVTX | S_IRWXU;
  if (::mkdirat(directory, name.c_str(), kMark) != 0) return {};
  UniqueFd made{::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat status{};
  if (!made || ::fstat(made.get(), &status) != 0) return {};
  // An agent that is not root runs commands as its own user, so no other user can deceive it.
  const bool is_new = status.st_uid == file_uid() && (status.st_mode & (S_ISVTX | S_IRWXG | S_IRWXO)) == S_ISVTX;
  if (is_new || ::geteuid() != 0 || !keeps_modes(made.get())) return made;
  errno = EAGAIN;
  return {};
}

void set_link_times(int directory, const std::string& name, std::span<const timespec, 2> times) {
  const UniqueFd link{::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat status{};
  if (!link || ::fstat(link.get(), &status) != 0) return;
  if (!S_ISLNK(status.st_mode) || status.st_uid != file_uid()) return;
  (void)::utimensat(link.get(), "", times.data(), AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

}  // namespace skiff::fs
