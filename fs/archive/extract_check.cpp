#include "fs/archive/extract_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "fs/path/descend.hpp"
#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

std::uint64_t hash_of(std::string_view path) {
  return std::hash<std::string_view>{}(path);
}

std::unexpected<Error> passes_link(std::string_view path, std::string_view link) {
  return fail(Errc::path_escapes_root, in_quotes(path) + " would pass the link " + in_quotes(link));
}

}  // namespace

Result<std::string> ExtractCheck::check(const TarEntry& entry) {
  if (++summary_.entries > options_.most_entries) {
    return fail(Errc::payload_too_large,
                "the archive has more than " + std::to_string(options_.most_entries) + " members");
  }
  if (entry.kind == TarEntry::Kind::file) {
    if (entry.size > options_.most_bytes - summary_.bytes) {
      return fail(Errc::payload_too_large,
                  "the archive unpacks to more than " + std::to_string(options_.most_bytes) + " bytes");
    }
    summary_.bytes += entry.size;
    stored_ += entry.stored;
  }
  if (entry.kind == TarEntry::Kind::other) {
    return fail(Errc::not_a_regular_file, in_quotes(entry.path) + " is a device or a FIFO: the archive is refused");
  }
  auto path = clean_path(entry.path);
  if (!path) return path;
  if (path->empty()) {
    if (entry.kind == TarEntry::Kind::directory) return path;
    return fail(Errc::malformed_archive, "a member that is not a directory has the name " + in_quotes(entry.path));
  }
  SKIFF_TRY_VOID(check_in_archive(entry, *path));
  SKIFF_TRY_VOID(check_on_disk(entry, *path));
  return path;
}

Result<> ExtractCheck::check_in_archive(const TarEntry& entry, std::string_view path) {
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    const std::string_view above = path.substr(0, slash);
    const auto [known, added] = kinds_.try_emplace(hash_of(above), Kind::directory);
    if (known->second == Kind::link) return passes_link(path, above);
    if (known->second == Kind::file) {
      return fail(Errc::malformed_archive, in_quotes(above) + " is a file and a directory");
    }
  }
  Kind kind = entry.kind == TarEntry::Kind::directory ? Kind::directory
              : entry.kind == TarEntry::Kind::link    ? Kind::link
                                                      : Kind::file;
  if (entry.kind == TarEntry::Kind::hard_link) {
    SKIFF_TRY(const auto target, clean_path(entry.target));
    const auto known = kinds_.find(hash_of(target));
    if (known == kinds_.end() || known->second == Kind::directory) {
      return fail(Errc::malformed_archive, in_quotes(path) + " is a hard link to " + in_quotes(entry.target) +
                                               ", which is not a file before it in the archive");
    }
    kind = known->second;  // a link may have several names, too
  }
  const auto [known, added] = kinds_.try_emplace(hash_of(path), kind);
  if (!added && (kind == Kind::directory) != (known->second == Kind::directory)) {
    if (known->second == Kind::link) return passes_link(path, path);
    return fail(Errc::malformed_archive, in_quotes(path) + " is a directory and something else");
  }
  known->second = kind;
  return {};
}

/// Opens the directory at `path` on disk. Returns false when it does not exist yet.
Result<bool> ExtractCheck::open_parent(std::string_view path) {
  if (parent_known_ && path == parent_path_) return parent_.get() >= 0;
  auto opened = descend(directory_.get(), path);
  if (!opened && opened.error().code != Errc::path_not_found) return std::unexpected{opened.error()};
  parent_path_ = path;
  parent_known_ = true;
  if (opened) {
    parent_ = std::move(*opened);
    return true;
  }
  parent_.reset();
  // The path is missing, or a file is in its place or above it.
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const auto [above, name] = directory_and_name(path.substr(0, end));
    const auto directory = descend(directory_.get(), above);
    struct stat info{};
    if (!directory || ::fstatat(directory->get(), std::string{name}.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) break;
    if (S_ISLNK(info.st_mode)) return passes_link(path, path.substr(0, end));
    if (!S_ISDIR(info.st_mode)) {
      return fail(Errc::not_a_directory,
                  in_quotes(path.substr(0, end)) + " is a directory in the archive and not on disk");
    }
  }
  return false;
}

Result<> ExtractCheck::check_on_disk(const TarEntry& entry, const std::string& path) {
  const auto [above, name] = directory_and_name(path);
  SKIFF_TRY(const auto there, open_parent(above));
  struct stat info{};
  if (!there || ::fstatat(parent_.get(), std::string{name}.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
  const bool is_directory = S_ISDIR(info.st_mode);
  if (entry.kind != TarEntry::Kind::directory) {
    if (is_directory)
      return fail(Errc::is_a_directory, in_quotes(path) + " is a directory on disk and not in the archive");
    return {};
  }
  if (S_ISLNK(info.st_mode)) return passes_link(path, path);
  if (!is_directory)
    return fail(Errc::not_a_directory, in_quotes(path) + " is a directory in the archive and not on disk");
  return {};
}

}  // namespace skiff::fs
