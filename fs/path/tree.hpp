#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/path.hpp"
#include "fs/path/resolve.hpp"

namespace skiff::fs {

struct Root {
  std::string path;  ///< absolute
  Access access = Access::read_write;
  int directory = -1;  ///< an open descriptor of the directory, if any; the caller keeps it
};

/// The location of a name that exists or will exist. Names are created, removed and renamed by their location, never by
/// a path.
struct Location {
  UniqueFd parent = {};       ///< O_PATH of the directory
  std::string name = {};      ///< one name, never "." or ".."
  bool directory = false;     ///< the path ended in a slash, so it must mean a directory
  MadeDirectories made = {};  ///< directories created on the way; the destructor removes the empty ones
};

/// The purpose of a path: a read-only root refuses changes.
enum class Use : unsigned char { read, change };

/// The directories that a session may use. A client's path is relative to the main root, or absolute below any root
/// ("what `pwd` prints"). A path becomes a descriptor here, once, by openat2(2) beneath the root's descriptor. Where
/// the kernel or its filter lacks that call, and where a link is absolute, it is walked name by name. No other code
/// joins path strings and opens them later, so no rename and no link, however timed, leads out of the roots. Immutable:
/// usable by any thread.
///
/// Errors of all functions: path_not_found, path_escapes_root, too_many_links, name_too_long, invalid_field (a NUL
/// byte), permission_denied (also for a read-only root).
class Tree {
 public:
  /// `main` and each of `extra` must be directories. Errors: also invalid_field for a path that is not absolute.
  [[nodiscard]] static Result<Tree> open(Root main, std::vector<Root> extra = {});

  /// Opens any object with O_PATH, to read its status or to hold it. This has no effect on a FIFO or device.
  [[nodiscard]] Result<UniqueFd> open_object(std::string_view path, Links last, Use use = Use::read) const;

  /// Opens a regular file with `flags` (O_RDONLY, O_WRONLY, O_RDWR, O_APPEND). Errors: not_a_regular_file,
  /// is_a_directory.
  [[nodiscard]] Result<UniqueFd> open_file(std::string_view path, int flags) const;

  /// Opens a directory for reading. Errors: not_a_directory.
  [[nodiscard]] Result<UniqueFd> open_directory(std::string_view path) const;

  /// Returns the directory and the name that a path stands for, to change it; the name may be free. `Links::follow`
  /// returns the destination of a link at the end. Errors: not_a_directory; invalid_field for a path that ends at a
  /// root or in "..", which cannot be created, removed or renamed.
  [[nodiscard]] Result<Location> locate(std::string_view path, Links last, Parents parents = Parents::require) const;

  /// Returns the number of directories that a path names between its root and its last name; 0 for an invalid path.
  [[nodiscard]] std::size_t levels_of(std::string_view path) const;

  /// Returns the main root's own path, without links: the base of relative paths.
  [[nodiscard]] std::string main_path() const;

  /// Returns false once the directory of a root was removed.
  [[nodiscard]] bool lives() const;

  /// Returns the same tree with the directories that have the names of removed roots now. No path is walked again: the
  /// name is looked up in the directory that held the root. It must not be a link, and only the agent's own user may be
  /// able to create names there. Errors: path_not_found when no such directory exists, path_escapes_root for a link.
  [[nodiscard]] Result<Tree> reopened() const;

  /// Returns the same tree, in which paths follow no links: the first link on a path is the error too_many_links.
  [[nodiscard]] Result<Tree> without_links() const;

  /// The main one first. They are open as long as the tree lives.
  [[nodiscard]] const std::vector<RootDirectory>& roots() const noexcept { return roots_; }

  /// Whether this directory is a read-only root, which may lie inside a writable one.
  [[nodiscard]] bool is_read_only_root(const struct stat& status) const;

 private:
  struct Routed;
  [[nodiscard]] Result<Routed> route(std::string_view path) const;
  /// Opens the path by openat2(2); returns the descriptor or the errno.
  [[nodiscard]] std::expected<UniqueFd, int> open_beneath(const RootDirectory& root, const char* path, int flags) const;
  /// Opens the same object by its path again, at half the cost of /proc; empty when the path now leads to another
  /// object.
  [[nodiscard]] UniqueFd open_again(std::string_view path, int flags, const struct stat& expected) const;
  [[nodiscard]] Result<Resolved> walk(const Routed& routed, ResolveOptions options) const;

  std::vector<RootDirectory> roots_;
  bool kernel_resolves_ = false;
  bool refuses_links_ = false;
};

}  // namespace skiff::fs
