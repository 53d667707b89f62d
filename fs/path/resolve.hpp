#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/made_directories.hpp"

namespace skiff::fs {

enum class Access : unsigned char { read_only, read_write };
enum class Links : unsigned char { follow, keep };     ///< handling of a link at the end of a path
enum class Parents : unsigned char { require, make };  ///< handling of missing directories on the way
enum class Missing : unsigned char { refuse, allow };  ///< whether the last name may be new

/// A root, open for as long as the tree lives.
struct RootDirectory {
  UniqueFd fd;                          ///< O_PATH
  std::vector<std::string> names = {};  ///< its absolute path as configured
  std::vector<std::string> real = {};   ///< its absolute path without links, as `pwd` prints it
  Access access = Access::read_write;
  struct stat status = {};
  bool system = false;  ///< it is the root of the file system: no directory is above it
  UniqueFd holder =
      {};  ///< O_PATH of the directory that holds it under the last name of `real`; none: it is not looked for again
};

/// The start of an absolute path: the innermost root that holds it, and how many of the path's names lead to that root.
struct Start {
  std::size_t root = 0;
  std::size_t names = 0;
};
/// Errors: path_escapes_root. `path` is for the message.
[[nodiscard]] Result<Start> find_start(std::span<const RootDirectory> roots, std::span<const std::string_view> names,
                                       std::string_view path);

struct Resolved {
  UniqueFd parent = {};     ///< O_PATH of the directory that holds it; none when the path ends at a root or in ".."
  std::string name = {};    ///< its last name there, after links were followed; empty without a parent
  UniqueFd object = {};     ///< O_PATH; none when it is missing
  struct stat status = {};  ///< status of the object
  Access access = Access::read_only;         ///< access to the object
  Access parent_access = Access::read_only;  ///< access to its directory
  bool directory = false;                    ///< the path must mean a directory
  MadeDirectories made = {};                 ///< directories that were created on the way
};

struct ResolveOptions {
  Links last = Links::follow;
  bool refuses_links = false;  ///< a link on the way, or with `Links::follow` at the end, is too_many_links
  Parents parents = Parents::require;
  Missing missing = Missing::refuse;
};

/// Walks a path name by name and opens each with O_PATH|O_NOFOLLOW below a descriptor, so no rename and no new link
/// during the walk leads out of the roots. Links are read and walked in turn; an absolute one starts again at the root
/// that holds it. ".." above a root and the magic links of /proc are escapes. Directories that are created on the way
/// have mode 0777 minus umask. `names` are below `root`. Errors: path_not_found, not_a_directory, path_escapes_root,
/// too_many_links, name_too_long (in a link), permission_denied, no_space.
[[nodiscard]] Result<Resolved> resolve(std::span<const RootDirectory> roots, std::size_t root,
                                       std::span<const std::string_view> names, bool directory, ResolveOptions options,
                                       std::string_view path);

/// Returns the error "... is below a root that can only be read".
[[nodiscard]] std::unexpected<Error> refuse_write(std::string_view path);

}  // namespace skiff::fs
