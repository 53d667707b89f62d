#include "fs/content/kept_attributes.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

constexpr const char* kList = "system.posix_acl_access";
constexpr std::size_t kMostAttribute = std::size_t{64} << 10U;  // largest list of names, or value (xattr(7))

std::unexpected<Error> failed_to(const char* what, int error) {
  return std::unexpected{system_error(error, what)};
}

/// An entry of an access list in the kernel's format: a version, then entries.
struct ListEntry {
  std::uint16_t tag;
  std::uint16_t permissions;
  std::uint32_t id;
};

mode_t group_rights(std::string_view list) {
  constexpr std::size_t kHead = 4;
  constexpr std::uint16_t kGroup = 0x04, kMask = 0x10;
  unsigned group = 0;
  unsigned mask = 07;
  for (std::size_t at = kHead; at + sizeof(ListEntry) <= list.size(); at += sizeof(ListEntry)) {
    ListEntry entry;
    std::memcpy(&entry, list.data() + at, sizeof entry);
    if (entry.tag == kGroup) group = entry.permissions;
    if (entry.tag == kMask) mask = entry.permissions;
  }
  return (group & mask & 07U) << 3U;
}

/// Returns the attribute names of `path`, each with its zero byte.
Result<std::string> names_of(const std::string& path) {
  std::string names(256, '\0');
  ssize_t size = ::listxattr(path.c_str(), names.data(), names.size());
  if (size < 0 && errno == ERANGE) {
    names.resize(kMostAttribute);
    size = ::listxattr(path.c_str(), names.data(), names.size());
  }
  if (size < 0 && errno != EOPNOTSUPP && errno != ENOSYS) return failed_to("list the attributes of a file", errno);
  names.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return names;
}

}  // namespace

Result<KeptList> keep_attributes(const Location& location, const Entry& replaced, int fd, const KeepOptions& options) {
  const UniqueFd object{::openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  if (!object) return KeptList{};
  SKIFF_TRY(auto status, status_of(object.get()));
  if (status.st_ino != replaced.inode || status.st_dev != replaced.device) {
    return fail(Errc::precondition_failed, in_quotes(location.name) + " was replaced just now");
  }
  const std::string path = proc_path(object.get());
  SKIFF_TRY(const auto names, names_of(path));
  KeptList list;
  std::vector<char> value(names.empty() ? 0 : kMostAttribute);
  for (std::string_view rest = names; !rest.empty();) {
    const std::string name{rest.substr(0, rest.find('\0'))};
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const bool is_list = name == kList;
    if (!is_list && !name.starts_with("user.")) continue;
    if (!options.not_kept.empty() && name.starts_with(options.not_kept)) continue;
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size < 0 && errno == ENODATA) continue;  // gone meanwhile
    // The agent cannot copy an attribute that it may not read; for an access list this is an error.
    if (size < 0 && !is_list && (errno == EACCES || errno == EPERM)) continue;
    if (size < 0) return failed_to("read an attribute of a file", errno);
    const std::string_view bytes{value.data(), static_cast<std::size_t>(size)};
    if (is_list) {
      list.had = true;
      list.group = group_rights(bytes);
      list.kept = options.list && ::fsetxattr(fd, kList, bytes.data(), bytes.size(), 0) == 0;
    } else if (::fsetxattr(fd, name.c_str(), bytes.data(), bytes.size(), XATTR_CREATE) != 0 &&
               (errno == ENOSPC || errno == EDQUOT)) {
      return failed_to("keep an attribute of a file", errno);
    }
  }
  if (!list.kept && ::fremovexattr(fd, kList) != 0 && errno != ENODATA && errno != EOPNOTSUPP && errno != ENOSYS) {
    return failed_to("remove the access list of a file", errno);
  }
  return list;
}

}  // namespace skiff::fs
