#pragma once

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
  int directory = -1;  ///< the directory itself, where it is open already; it stays the caller's
};

/// Where a name is, or will be: what is made, removed or renamed is addressed so, never by a path.
struct Place {
  UniqueFd parent = {};       ///< O_PATH of the directory
  std::string name = {};      ///< one name, never "." or ".."
  bool directory = false;     ///< the path ended in a slash: only a directory may be meant
  MadeDirectories made = {};  ///< on the way there: they go again with the place, unless something is in them
};

/// What a path is about to be used for: a root that can only be read refuses changes.
enum class Use : unsigned char { read, change };

/// The directories that a session may touch. A client's path is relative to the main root, or absolute below any root
/// ("what `pwd` prints"). It becomes a descriptor here, once, by openat2(2) beneath the root's descriptor, or name by
/// name where the kernel or its filter lacks that call and where a link is absolute; nobody joins strings and opens
/// them later. So no rename and no link, however timed, leads out of the roots. Immutable: any thread.
///
/// Errors of all: path_not_found, path_escapes_root, too_many_links, name_too_long, invalid_field (a NUL byte),
/// permission_denied (also: a root that can only be read).
class Tree {
 public:
  /// `main` and each of `extra` must be directories. Errors: also invalid_field for a path that isn't absolute.
  [[nodiscard]] static Result<Tree> open(Root main, std::vector<Root> extra = {});

  /// Whatever is there, as an O_PATH descriptor: for its status, or to hold on to it. Nothing happens to a FIFO or
  /// device.
  [[nodiscard]] Result<UniqueFd> open_object(std::string_view path, Links last, Use use = Use::read) const;

  /// A regular file with `flags` (O_RDONLY, O_WRONLY, O_RDWR, O_APPEND). Errors: not_a_regular_file, is_a_directory.
  [[nodiscard]] Result<UniqueFd> open_file(std::string_view path, int flags) const;

  /// A directory, to be read. Errors: not_a_directory.
  [[nodiscard]] Result<UniqueFd> open_directory(std::string_view path) const;

  /// The directory and the name that a path stands for, whether something is there or not, in order to change it. With
  /// `Links::follow` a link at the end gives the place it leads to. Errors: not_a_directory, and invalid_field for a
  /// path that ends at a root or in "..": those can't be made, removed or renamed.
  [[nodiscard]] Result<Place> locate(std::string_view path, Links last, Parents parents = Parents::require) const;

  /// How many directories a path names between its root and what it leads to; 0 for a path that is not one.
  [[nodiscard]] std::size_t levels_of(std::string_view path) const;

  /// The main root's own path, without links: what relative paths begin at.
  [[nodiscard]] std::string main_path() const;

  /// False once the directory of a root was removed.
  [[nodiscard]] bool lives() const;

  /// The same tree, with the directories that have the names of removed roots now. No path is followed anew: a name is
  /// looked up in the directory that held the root, may be no link, and counts only where none but the agent's user can
  /// have put it there. Errors: path_not_found when there is none that counts, path_escapes_root for a link.
  [[nodiscard]] Result<Tree> reopened() const;

  /// The main one first. They are open as long as the tree lives.
  [[nodiscard]] const std::vector<RootDirectory>& roots() const noexcept { return roots_; }

  /// Whether this directory is a root that can only be read, which may lie inside one that can be written.
  [[nodiscard]] bool is_read_only_root(const struct stat& status) const;

 private:
  struct Routed;
  [[nodiscard]] Result<Routed> route(std::string_view path) const;
  /// The same object by the same path, half as dear as by /proc; none when the kernel now finds something else.
  [[nodiscard]] UniqueFd open_again(std::string_view path, int flags, const struct stat& expected) const;
  [[nodiscard]] Result<Resolved> walk(const Routed& routed, ResolveOptions options) const;

  std::vector<RootDirectory> roots_;
  bool kernel_resolves_ = false;
};

}  // namespace skiff::fs
