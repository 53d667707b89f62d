#include "fs/watch/watched_directories.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "fs/path/descend.hpp"
#include "fs/path/temporary_name.hpp"

namespace skiff::fs {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_directory(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info{};
  return ::fstatat(parent, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

WatchDirectories::WatchDirectories(const UniqueFd& inotify, const UniqueFd& top, std::string prefix, std::size_t most,
                                   bool recursive)
    : inotify_{inotify}, top_{top}, prefix_{std::move(prefix)}, most_{most}, recursive_{recursive} {}

Result<> WatchDirectories::start(const std::stop_token& stop) {
  const auto watch = add(top_.get(), kNone, "");
  if (!watch) return std::unexpected{watch.error()};
  top_watch_ = *watch;
  if (!recursive_) return {};
  std::optional<Error> failure;
  scan({top_watch_}, nullptr, [&failure](const std::string&, Error why) { failure = std::move(why); }, stop);
  if (stop.stop_requested()) return fail(Errc::cancelled, "the client no longer wants the watch");
  if (failure) return std::unexpected{std::move(*failure)};
  return {};
}

Result<int> WatchDirectories::add(int directory, int parent, const std::string& name) {
  if (directories_.size() >= most_) {
    return fail(Errc::resource_exhausted, "there are more than " + std::to_string(most_) + " directories to watch");
  }
  // Watch by descriptor, so that it is this directory, whatever its name leads to by now.
  const std::string path = "/proc/self/fd/" + std::to_string(directory);
  const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), kMask);
  if (watch < 0 && errno == ENOSPC) {
    return fail(Errc::resource_exhausted,
                "the kernel allows no more inotify watches: fs.inotify.max_user_watches is reached");
  }
  if (watch < 0) return std::unexpected{system_error(errno, "watch a directory")};
  // The watch may exist under the directory's earlier name.
  if (directories_.contains(watch)) detach(watch);
  Directory& added = directories_[watch];
  added.parent = parent;
  added.name = name;
  if (parent != kNone) {
    auto& children = directories_[parent].children;
    const auto old = children.find(name);
    if (old != children.end() && old->second != watch) remove(old->second, false);
    directories_[parent].children[name] = watch;
  }
  return watch;
}

void WatchDirectories::detach(int watch) {
  const Directory& directory = directories_.at(watch);
  const auto parent = directories_.find(directory.parent);
  if (parent == directories_.end()) return;
  const auto mine = parent->second.children.find(directory.name);
  if (mine != parent->second.children.end() && mine->second == watch) parent->second.children.erase(mine);
}

void WatchDirectories::adopt(int parent, const std::string& name, const Found& found, const Missed& missed) {
  if (!recursive_) return;
  const auto above = descend(top_.get(), std::string_view{path_of(parent)}.substr(prefix_.size()));
  if (!above) return;
  const auto directory = descend(above->get(), name);
  if (!directory) return;  // the directory is gone again, and another event reports that
  const auto watch = add(directory->get(), parent, name);
  if (!watch) {
    if (watch.error().code == Errc::resource_exhausted) missed(path_of(parent, name), watch.error());
    return;
  }
  scan({*watch}, &found, missed, {});
}

void WatchDirectories::scan(std::vector<int> watches, const Found* found, const Missed& missed,
                            const std::stop_token& stop) {
  while (!watches.empty() && !stop.stop_requested()) {
    const int watch = watches.back();
    watches.pop_back();
    auto directory = descend(top_.get(), std::string_view{path_of(watch)}.substr(prefix_.size()));
    if (!directory) continue;
    const int fd = directory->get();
    const std::unique_ptr<DIR, CloseDirectory> listing{::fdopendir(fd)};
    if (!listing) continue;
    (void)directory->release();  // the listing closes it
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string name = entry->d_name;
      // Skip files that the agent has not finished.
      if (name == "." || name == ".." || is_temporary(name)) continue;
      const bool directory_inside = is_directory(fd, *entry);
      if (found != nullptr) {
        Directory& mine = directories_[watch];
        if (mine.told.empty()) telling_.push_back(watch);
        if (mine.told.insert(name).second) (*found)(path_of(watch, name), directory_inside);
      }
      if (!directory_inside || !recursive_) continue;
      const auto inside = descend(fd, name);
      if (!inside) continue;
      const auto added = add(inside->get(), watch, name);
      if (added) {
        watches.push_back(*added);
      } else if (added.error().code == Errc::resource_exhausted) {
        missed(path_of(watch, name), added.error());
        return;
      }
    }
  }
}

void WatchDirectories::drop(int parent, const std::string& name) {
  const auto above = directories_.find(parent);
  if (above == directories_.end()) return;
  const auto child = above->second.children.find(name);
  if (child != above->second.children.end()) remove(child->second, false);
}

void WatchDirectories::remove(int watch, bool ended) {
  if (!directories_.contains(watch)) return;
  detach(watch);
  std::vector<int> going{watch};
  while (!going.empty()) {
    const int one = going.back();
    going.pop_back();
    const auto directory = directories_.find(one);
    if (directory == directories_.end()) continue;
    for (const auto& [name, child] : directory->second.children) going.push_back(child);
    directories_.erase(directory);
    if (!ended || one != watch) ::inotify_rm_watch(inotify_.get(), one);
  }
}

void WatchDirectories::remove_all() {
  for (const auto& [watch, directory] : directories_) ::inotify_rm_watch(inotify_.get(), watch);
  directories_.clear();
  telling_.clear();
}

bool WatchDirectories::move(int parent, const std::string& name, int new_parent, const std::string& new_name) {
  const auto from = directories_.find(parent);
  const auto to = directories_.find(new_parent);
  if (from == directories_.end() || to == directories_.end()) return false;
  const auto child = from->second.children.find(name);
  if (child == from->second.children.end()) {
    const auto already = to->second.children.find(new_name);  // a scan has found it already
    return already != to->second.children.end();
  }
  const int watch = child->second;
  from->second.children.erase(child);
  to->second.children[new_name] = watch;
  Directory& moved = directories_.at(watch);
  moved.parent = new_parent;
  moved.name = new_name;
  return true;
}

int WatchDirectories::exchange(int parent, const std::string& name, int other_parent, const std::string& other_name) {
  const auto from = directories_.find(parent);
  const auto to = directories_.find(other_parent);
  if (from == directories_.end() || to == directories_.end()) return kNone;
  const auto one = from->second.children.find(name);
  const auto other = to->second.children.find(other_name);
  if (one == from->second.children.end() || other == to->second.children.end()) return kNone;
  if (one->second == other->second) return kNone;
  std::swap(one->second, other->second);
  Directory& first = directories_.at(other->second);
  first.parent = other_parent;
  first.name = other_name;
  Directory& second = directories_.at(one->second);
  second.parent = parent;
  second.name = name;
  return one->second;
}

std::string WatchDirectories::path_of(int watch, std::string_view name) const {
  std::vector<std::string_view> names;
  if (!name.empty()) names.push_back(name);
  for (auto directory = directories_.find(watch); directory != directories_.end() && directory->second.parent != kNone;
       directory = directories_.find(directory->second.parent)) {
    names.push_back(directory->second.name);
  }
  std::string path = prefix_;
  for (auto part = names.rbegin(); part != names.rend(); ++part) {
    if (!path.empty()) path += '/';
    path += *part;
  }
  return path;
}

bool WatchDirectories::holds(int watch, const std::string& name) const {
  const auto directory = descend(top_.get(), std::string_view{path_of(watch)}.substr(prefix_.size()));
  struct stat info{};
  return directory && ::fstatat(directory->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

bool WatchDirectories::take_told(int watch, const std::string& name) {
  const auto directory = directories_.find(watch);
  return directory != directories_.end() && directory->second.told.erase(name) > 0;
}

void WatchDirectories::forget_told() {
  for (const int watch : std::exchange(telling_, {})) {
    if (const auto directory = directories_.find(watch); directory != directories_.end())
      directory->second.told.clear();
  }
}

}  // namespace skiff::fs
