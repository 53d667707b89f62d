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
#include <optional>
#include <vector>

#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

/// Calls capget(2) or capset(2) for this thread alone.
bool capabilities(long call, Capabilities& of) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(call, &header, of.data()) == 0;
}

std::optional<std::uint64_t> rights() {
  Capabilities now{};
  if (!capabilities(SYS_capget, now)) return std::nullopt;
  return (std::uint64_t{now[1].effective} << 32U) | now[0].effective;
}

bool set_rights(std::uint64_t to) {
  Capabilities now{};
  if (!capabilities(SYS_capget, now)) return false;
  now[0].effective = static_cast<std::uint32_t>(to);
  now[1].effective = static_cast<std::uint32_t>(to >> 32U);
  return capabilities(SYS_capset, now);
}

/// Sets the groups of this thread; setgroups(3) would change those of all threads.
bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

/// These calls say what was before, and never that they have failed: asked for -1 they change nothing.
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
  const auto refuse = [&] {
    return std::unexpected{system_error(EPERM, "make " + in_quotes(path) + " for another user")};
  };
  // The agent's own ids would be allowed to a thread that has given its rights up, and give them back.
  const bool is_lesser = file_uid() != ::geteuid();
  if (is_lesser && (uid != file_uid() || gid != file_gid())) return refuse();
  Capabilities own{};
  const bool known = capabilities(SYS_capget, own);
  MadeFor made{file_uid(), file_gid()};
  ::setfsgid(gid);
  ::setfsuid(uid);
  // The kernel drops the capabilities for files together with uid 0. Restore them: only the owner of new files shall
  // change, not the agent's rights.
  const bool acts = known && file_uid() == uid && file_gid() == gid && capabilities(SYS_capset, own);
  if (acts) return made;
  return refuse();
}

MadeFor::~MadeFor() {
  if (!acts_) return;
  // Together with uid 0 the kernel restores the capabilities.
  ::setfsuid(uid_);
  ::setfsgid(gid_);
  if (file_uid() != uid_ || file_gid() != gid_) std::abort();  // the agent must not continue as another user
}

Result<ActingAs> ActingAs::begin(const Asker& asker, std::string_view path) {
  const auto refuse = [&] {
    return std::unexpected{system_error(EPERM, "change " + in_quotes(path) + " with the rights of another user")};
  };
  std::vector<gid_t> own(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const bool is_known = ::getgroups(static_cast<int>(own.size()), own.data()) == static_cast<int>(own.size());
  const auto had = rights();
  if (asker.uid == ::geteuid() || !is_known || !had || !set_groups(asker.groups)) return refuse();
  ActingAs acting{file_uid(), file_gid(), std::move(own), *had};
  ::setfsgid(asker.gid);
  ::setfsuid(asker.uid);
  if (file_uid() == asker.uid && file_gid() == asker.gid && set_rights(0)) return acting;
  return refuse();
}

ActingAs::~ActingAs() {
  if (!acts_) return;
  ::setfsuid(uid_);
  ::setfsgid(gid_);
  // With the uid 0 the kernel gives back what was over files.
  const bool has_rights = rights() == rights_ || set_rights(rights_);
  if (!has_rights || !set_groups(groups_) || file_uid() != uid_ || file_gid() != gid_) std::abort();
}

UniqueFd create_private_directory(int directory, const std::string& name) {
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
