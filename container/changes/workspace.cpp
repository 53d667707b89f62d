#include "container/changes/workspace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "fs/path/path.hpp"

namespace skiff::container::changes {
namespace {

Result<UniqueFd> open_without_link(const std::string& path) {
  UniqueFd opened{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!opened) return std::unexpected{system_error(errno, "open " + fs::in_quotes(path))};
  return opened;
}

Result<fs::Tree> tree_at(const std::string& path, const UniqueFd& directory, fs::Access access) {
  SKIFF_TRY(auto tree, fs::Tree::open({.path = path, .access = access, .directory = directory.get()}));
  return tree.without_links();
}

}  // namespace

Result<Workspace> Workspace::open(const MountedLayer& mount) {
  struct stat found{};
  if (::lstat(mount.directory.c_str(), &found) != 0) {
    return std::unexpected{system_error(errno, "open " + fs::in_quotes(mount.directory))};
  }
  const UniqueFd directory = open_without_link(mount.directory).value_or(UniqueFd{});
  if (!directory || ::fstat(directory.get(), &found) != 0 || found.st_dev != mount.device ||
      found.st_ino != mount.inode) {
    return fail(Errc::sandbox_conflict,
                "another directory has taken the place of " + fs::in_quotes(mount.directory) + ", which was mounted");
  }
  SKIFF_TRY(auto layer, open_without_link(mount.layer));
  SKIFF_TRY(auto directory_tree, tree_at(mount.directory, directory, fs::Access::read_write));
  SKIFF_TRY(auto layer_tree, tree_at(mount.layer, layer, fs::Access::read_only));
  SKIFF_TRY(auto applied, AppliedFiles::load(mount.record, mount.since_ns));
  return Workspace{.mount = mount,
                   .directory = std::move(directory_tree),
                   .layer = std::move(layer_tree),
                   .applied = std::move(applied)};
}

Result<UniqueFd> Workspace::lock() const {
  const std::string place = std::filesystem::path{mount.record}.parent_path();
  UniqueFd held{::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!held) return std::unexpected{system_error(errno, "open " + fs::in_quotes(place))};
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  if (errno == EWOULDBLOCK) return fail(Errc::sandbox_conflict, "another `skiff apply` of this sandbox is at work");
  return std::unexpected{system_error(errno, "lock " + fs::in_quotes(place))};
}

}  // namespace skiff::container::changes
