#include "fs/path/descend.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace skiff::fs {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

bool is_link(int directory, const std::string& name) {
  struct stat info{};
  return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

Result<UniqueFd> descend(int directory, std::string_view path) {
  UniqueFd at{::openat(directory, ".", kDirectoryFlags)};
  if (!at) return std::unexpected{system_error(errno, "open a directory")};
  std::string name;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") return fail(Errc::path_escapes_root, "\"" + std::string{path} + "\" holds \"..\"");
    UniqueFd next{::openat(at.get(), name.c_str(), kDirectoryFlags)};
    if (!next) {
      // With O_DIRECTORY a link fails with ENOTDIR, as a file does.
      const int error = errno;
      if ((error == ELOOP || error == ENOTDIR) && is_link(at.get(), name)) {
        return fail(Errc::path_escapes_root, "\"" + std::string{path} + "\" passes the link \"" + name + "\"");
      }
      return std::unexpected{system_error(error, "open the directory \"" + std::string{path} + "\"")};
    }
    at = std::move(next);
  }
  return at;
}

DirectoryAndName directory_and_name(std::string_view path) noexcept {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  DirectoryAndName parts = slash == std::string_view::npos
                               ? DirectoryAndName{{}, path}
                               : DirectoryAndName{path.substr(0, slash), path.substr(slash + 1)};
  if (parts.name == ".") parts.name = {};
  return parts;
}

Result<std::string> clean_path(std::string_view path) {
  if (path.starts_with('/')) return fail(Errc::path_escapes_root, "\"" + std::string{path} + "\" is absolute");
  if (path.contains('\0')) return fail(Errc::invalid_field, "a path holds a zero byte");
  std::string clean;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") return fail(Errc::path_escapes_root, "\"" + std::string{path} + "\" holds \"..\"");
    if (name.size() > kLongestName) return fail(Errc::name_too_long, "a name in a path is longer than 255 bytes");
    if (!clean.empty()) clean += '/';
    clean += name;
  }
  return clean;
}

}  // namespace skiff::fs
