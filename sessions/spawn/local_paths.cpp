#include "sessions/spawn/local_paths.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace skiff::sessions {
namespace {

constexpr unsigned long kXfs = 0x58465342;
constexpr unsigned long kZfs = 0x2FC12FC1;
constexpr std::array<unsigned long, 12> kLocalTypes{
    EXT4_SUPER_MAGIC,      kXfs,        BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, kZfs,
    OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,       SQUASHFS_MAGIC,   EROFS_SUPER_MAGIC_V1,
    PROC_SUPER_MAGIC,      SYSFS_MAGIC};

bool is_local(std::string path) {
  if (!path.starts_with('/')) return false;
  struct statfs info{};
  while (::statfs(path.c_str(), &info) != 0) {
    if (errno != ENOENT || path == "/") return false;
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  }
  return std::ranges::find(kLocalTypes, static_cast<unsigned long>(info.f_type)) != kLocalTypes.end();
}

}  // namespace

bool LocalPaths::knows(const std::string& paths) const {
  const auto found = known_.find(paths);
  return found != known_.end() && std::chrono::steady_clock::now() - found->second < kLately;
}

void LocalPaths::note(const std::string& paths) {
  if (known_.size() >= kMost && !known_.contains(paths)) known_.clear();
  known_[paths] = std::chrono::steady_clock::now();
}

bool LocalPaths::are_local(const std::string& paths) {
  std::string_view rest = paths;
  for (;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (!is_local(std::string{rest.substr(0, end)})) return false;
    if (end == rest.size()) return true;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace skiff::sessions
