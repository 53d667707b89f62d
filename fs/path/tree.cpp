#include "fs/path/tree.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/kernel_features.hpp"
#include "fs/path/descend.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

/// openat2(2) fails with EAGAIN when a rename anywhere on the system coincides with its check of a "..".
constexpr int kMostOpenTries = 64;

/// Whether to try the walk after this error: it follows absolute links, and finds out why openat2(2) failed.
bool walk_decides(int error) {
  return error == EXDEV || error == ELOOP || error == EAGAIN || error == ENOTDIR;
}

std::vector<std::string> owned(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

UniqueFd duplicate(const UniqueFd& fd) {
  return UniqueFd{fd ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1};
}

Result<RootDirectory> duplicate(const RootDirectory& root) {
  RootDirectory same{.fd = duplicate(root.fd),
                     .names = root.names,
                     .real = root.real,
                     .access = root.access,
                     .status = root.status,
                     .system = root.system,
                     .holder = duplicate(root.holder)};
  if (!same.fd) return std::unexpected{system_error(errno, "open a root again")};
  return same;
}

/// None for a root that has been moved meanwhile.
UniqueFd open_holder(const RootDirectory& root) {
  if (root.real.empty()) return {};
  UniqueFd holder{::openat(root.fd.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  struct stat named{};
  const bool holds = holder && ::fstatat(holder.get(), root.real.back().c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                     same_object(named, root.status);
  return holds ? std::move(holder) : UniqueFd{};
}

/// Completes a root of which only descriptor, access and path are known; `path` is for messages.
Result<RootDirectory> look_at(RootDirectory root, std::string_view path) {
  struct stat system{};
  if (!root.fd || ::fstat(root.fd.get(), &root.status) != 0 || ::stat("/", &system) != 0) {
    return std::unexpected{system_error(errno, "open the root " + in_quotes(path))};
  }
  std::array<char, kMostPathBytes + 1> real;
  const ssize_t size = ::readlink(proc_path(root.fd.get()).c_str(), real.data(), real.size());
  if (size < 0) return std::unexpected{system_error(errno, "read in /proc the path of the root " + in_quotes(path))};
  SKIFF_TRY(auto real_names, split_path({real.data(), static_cast<std::size_t>(size)}));
  root.real = owned(real_names.names);
  root.system = root.real.empty() && same_object(root.status, system);
  root.holder = open_holder(root);
  return root;
}

Result<RootDirectory> open_root(const Root& root) {
  SKIFF_TRY(auto names, split_path(root.path));
  if (!names.absolute)
    return fail(Errc::invalid_field, "the root " + in_quotes(root.path) + " is not an absolute path");
  RootDirectory directory{
      .fd = UniqueFd{root.directory >= 0 ? ::fcntl(root.directory, F_DUPFD_CLOEXEC, 0)
                                         : ::open(root.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)},
      .names = owned(names.names),
      .access = root.access};
  return look_at(std::move(directory), root.path);
}

bool is_alive(const RootDirectory& root) {
  // Use the cached status: a file system that hangs must not block this call.
  struct statx now{};
  return ::statx(root.fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK, &now) == 0 && now.stx_nlink > 0;
}

/// Whether only root can create names in it. True if the agent is not root: its commands run as its user anyway.
bool is_own(const UniqueFd& directory) {
  constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
  if (::geteuid() != 0) return true;
  auto status = status_of(directory.get());
  return status && status->st_uid == 0 && (status->st_mode & kOthersMayWrite) == 0;
}

Result<RootDirectory> find_again(const RootDirectory& root) {
  const std::string path = '/' + join(std::vector<std::string_view>{root.real.begin(), root.real.end()});
  const std::string gone = "the root " + in_quotes(path) + " was removed";
  if (!root.holder) return fail(Errc::path_not_found, gone);
  const std::string& name = root.real.back();
  if (is_link(root.holder.get(), name)) return fail(Errc::path_escapes_root, gone + ": a link took its place");
  if (!is_own(root.holder)) {
    return fail(Errc::path_not_found,
                gone + ": other users may write to its parent directory, so the directory there now is not used");
  }
  RootDirectory again{
      .fd = UniqueFd{::openat(root.holder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)},
      .names = root.names,
      .access = root.access};
  return look_at(std::move(again), path);
}

bool within(const RootDirectory& inner, const RootDirectory& outer) {
  return inner.real.size() >= outer.real.size() && std::equal(outer.real.begin(), outer.real.end(), inner.real.begin());
}

}  // namespace

struct Tree::Routed {
  SplitPath split;
  std::size_t root = 0;
  std::span<const std::string_view> names;  // names below the root
  std::string_view path;
};

Result<Tree> Tree::open(Root main, std::vector<Root> extra) {
  Tree tree;
  extra.insert(extra.begin(), std::move(main));
  for (const Root& root : extra) {
    SKIFF_TRY(auto directory, open_root(root));
    tree.roots_.push_back(std::move(directory));
  }
  // The kernel does not report that a path enters a root inside another one. So if a read-only root lies in a writable
  // one, the walk resolves all paths.
  const bool nested = std::ranges::any_of(tree.roots_, [&](const RootDirectory& inner) {
    return inner.access == Access::read_only && std::ranges::any_of(tree.roots_, [&](const RootDirectory& outer) {
             return outer.access == Access::read_write && within(inner, outer);
           });
  });
  tree.kernel_resolves_ = kernel_features().openat2 && !nested;
  return tree;
}

Result<Tree::Routed> Tree::route(std::string_view path) const {
  SKIFF_TRY(auto split, split_path(path));
  Routed routed{.split = std::move(split), .root = 0, .names = {}, .path = path};
  routed.names = routed.split.names;
  if (routed.split.absolute) {
    SKIFF_TRY(auto start, find_start(roots_, routed.names, path));
    routed.root = start.root;
    routed.names = routed.names.subspan(start.names);
  }
  return routed;
}

std::expected<UniqueFd, int> Tree::open_beneath(const RootDirectory& root, const char* path, int flags) const {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_NO_MAGICLINKS | (root.system ? 0U : unsigned{RESOLVE_BENEATH}) |
                (refuses_links_ ? unsigned{RESOLVE_NO_SYMLINKS} : 0U);
  for (int i = 0; i < kMostOpenTries; ++i) {
    UniqueFd fd{static_cast<int>(::syscall(SYS_openat2, root.fd.get(), path, &how, sizeof how))};
    if (fd) return fd;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return std::unexpected{errno};
}

Result<Resolved> Tree::walk(const Routed& routed, ResolveOptions options) const {
  options.refuses_links = refuses_links_;
  return resolve(roots_, routed.root, routed.names, routed.split.directory, options, routed.path);
}

Result<UniqueFd> Tree::open_object(std::string_view path, Links last, Use use) const {
  SKIFF_TRY(auto routed, route(path));
  if (kernel_resolves_) {
    const RootDirectory& root = roots_[routed.root];
    const std::string below = join(routed.names, routed.split.directory);
    auto fd = open_beneath(root, below.c_str(), last == Links::keep ? O_PATH | O_NOFOLLOW : O_PATH);
    if (fd) {
      if (use == Use::change && root.access != Access::read_write) return refuse_write(path);
      return std::move(*fd);
    }
    if (!walk_decides(fd.error())) return std::unexpected{system_error(fd.error(), "open " + in_quotes(path))};
  }
  SKIFF_TRY(auto found, walk(routed, {.last = last, .parents = Parents::require, .missing = Missing::refuse}));
  if (use == Use::change && found.access != Access::read_write) return refuse_write(path);
  return std::move(found.object);
}

Result<UniqueFd> Tree::open_file(std::string_view path, int flags) const {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  auto object = open_object(path, Links::follow, writes ? Use::change : Use::read);
  if (!object) return object;
  SKIFF_TRY(auto status, status_of(object->get()));
  // Open it for I/O only after this check: opening a FIFO wakes the process at its other end, and opening a device may
  // have any effect.
  SKIFF_TRY_VOID(check_regular(status.st_mode, path));
  if (UniqueFd file = open_again(path, flags, status)) return file;
  UniqueFd file = reopen(object->get(), flags);
  if (!file) return std::unexpected{system_error(errno, "open " + in_quotes(path))};
  return file;
}

UniqueFd Tree::open_again(std::string_view path, int flags, const struct stat& expected) const {
  auto routed = route(path);
  if (!routed || !kernel_resolves_) return {};
  const std::string below = join(routed->names, routed->split.directory);
  auto file = open_beneath(roots_[routed->root], below.c_str(), flags | O_NONBLOCK | O_NOCTTY);
  if (!file) return {};
  auto status = status_of(file->get());
  return status && same_object(*status, expected) ? std::move(*file) : UniqueFd{};
}

Result<UniqueFd> Tree::open_directory(std::string_view path) const {
  auto object = open_object(path, Links::follow);
  if (!object) return object;
  UniqueFd directory = reopen(object->get(), O_RDONLY | O_DIRECTORY);
  if (directory) return directory;
  if (errno == ENOTDIR) return fail(Errc::not_a_directory, in_quotes(path) + " is not a directory");
  return std::unexpected{system_error(errno, "open " + in_quotes(path))};
}

Result<Location> Tree::locate(std::string_view path, Links last, Parents parents) const {
  SKIFF_TRY(auto routed, route(path));
  const std::span<const std::string_view> names = routed.names;
  if (kernel_resolves_ && !routed.split.directory && !names.empty()) {
    const RootDirectory& root = roots_[routed.root];
    const std::string below = join(names.first(names.size() - 1));
    auto parent = open_beneath(root, below.c_str(), O_PATH | O_DIRECTORY);
    if (parent) {
      std::string name{names.back()};
      if (last == Links::keep || !is_link(parent->get(), name)) {
        if (root.access != Access::read_write) return refuse_write(path);
        return Location{.parent = std::move(*parent), .name = std::move(name), .directory = false};
      }
    } else if (!walk_decides(parent.error()) && (parent.error() != ENOENT || parents == Parents::require)) {
      return std::unexpected{system_error(parent.error(), "open the directory of " + in_quotes(path))};
    }
  }
  SKIFF_TRY(auto found, walk(routed, {.last = last, .parents = parents, .missing = Missing::allow}));
  if (found.name.empty()) {
    return fail(Errc::invalid_field, in_quotes(path) + " is a root or ends in \"..\": it has no name to change",
                "path");
  }
  if (found.access != Access::read_write || found.parent_access != Access::read_write) return refuse_write(path);
  return Location{.parent = std::move(found.parent),
                  .name = std::move(found.name),
                  .directory = found.directory,
                  .made = std::move(found.made)};
}

std::size_t Tree::levels_of(std::string_view path) const {
  const auto routed = route(path);
  return routed && !routed->names.empty() ? routed->names.size() - 1 : 0;
}

std::string Tree::main_path() const {
  std::string path;
  for (const std::string& name : roots_.front().real) path += "/" + name;
  return path.empty() ? "/" : path;
}

bool Tree::lives() const {
  return std::ranges::all_of(roots_, is_alive);
}

Result<Tree> Tree::reopened() const {
  Tree tree;
  tree.kernel_resolves_ = kernel_resolves_;
  for (const RootDirectory& root : roots_) {
    SKIFF_TRY(auto directory, is_alive(root) ? duplicate(root) : find_again(root));
    tree.roots_.push_back(std::move(directory));
  }
  return tree;
}

Result<Tree> Tree::without_links() const {
  Tree tree;
  tree.kernel_resolves_ = kernel_resolves_;
  tree.refuses_links_ = true;
  for (const RootDirectory& root : roots_) {
    SKIFF_TRY(auto directory, duplicate(root));
    tree.roots_.push_back(std::move(directory));
  }
  return tree;
}

bool Tree::is_read_only_root(const struct stat& status) const {
  return std::ranges::any_of(roots_, [&](const RootDirectory& root) {
    return root.access == Access::read_only && same_object(root.status, status);
  });
}

}  // namespace skiff::fs
