#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// The directories that an inotify descriptor watches, as a tree. A watch has a number, and its path results from the
/// directories above it, so moving one directory moves all directories in it.
class WatchDirectories {
 public:
  static constexpr int kNone = -1;

  /// `inotify` and `top` must outlive it. `prefix` is the path of `top`; at most `most` directories are watched.
  WatchDirectories(const UniqueFd& inotify, const UniqueFd& top, std::string prefix, std::size_t most, bool recursive);

  /// Called for each name that a scan finds, with its path.
  using Found = std::function<void(const std::string& path, bool is_directory)>;
  /// Called for each directory that cannot be watched, with the reason.
  using Missed = std::function<void(const std::string& path, Error why)>;

  /// Watches `top`, and with `recursive` all directories in it.
  [[nodiscard]] Result<> start(const std::stop_token& stop);
  /// Watches the directory `name` in `parent` and all directories in it; reports the existing contents, which cause no
  /// events.
  void adopt(int parent, const std::string& name, const Found& found, const Missed& missed);
  /// Forgets `name` in `parent`, if it is a directory, and all directories in it.
  void drop(int parent, const std::string& name);
  /// Forgets one directory and all directories in it. `ended`: the kernel has ended the watch itself.
  void remove(int watch, bool ended);
  void remove_all();
  /// Returns false when that directory was not watched.
  bool move(int parent, const std::string& name, int new_parent, const std::string& new_name);
  /// Exchanges two directories. Returns the second one, or kNone unless both are watched.
  int exchange(int parent, const std::string& name, int other_parent, const std::string& other_name);

  [[nodiscard]] bool knows(int watch) const { return directories_.contains(watch); }
  [[nodiscard]] bool is_top(int watch) const noexcept { return watch == top_watch_; }
  /// Returns the path of this name in the directory; the path of the directory for "".
  [[nodiscard]] std::string path_of(int watch, std::string_view name = {}) const;
  /// Whether the name exists in the directory now. Blocks on the disk.
  [[nodiscard]] bool holds(int watch, const std::string& name) const;
  /// Whether a scan has reported this name already, so that its event is redundant. Each report is taken once.
  [[nodiscard]] bool take_told(int watch, const std::string& name);
  /// Call it when the queue is empty after a scan: later events are not redundant.
  void forget_told();
  [[nodiscard]] std::size_t size() const noexcept { return directories_.size(); }

 private:
  struct Directory {
    int parent = kNone;
    std::string name = {};
    std::unordered_map<std::string, int> children = {};
    std::unordered_set<std::string> told = {};
  };
  [[nodiscard]] Result<int> add(int directory, int parent, const std::string& name);
  void scan(std::vector<int> watches, const Found* found, const Missed& missed, const std::stop_token& stop);
  void detach(int watch);

  const UniqueFd& inotify_;
  const UniqueFd& top_;
  const std::string prefix_;
  const std::size_t most_;
  const bool recursive_;
  int top_watch_ = kNone;
  std::unordered_map<int, Directory> directories_;
  std::vector<int> telling_;  // directories with names in `told`
};

}  // namespace skiff::fs
