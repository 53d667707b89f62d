#include "container/changes/compare.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "container/changes/equal.hpp"
#include "container/changes/overlay.hpp"
#include "fs/content/in_place.hpp"
#include "fs/path/descend.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/path.hpp"
#include "fs/path/stop.hpp"

namespace skiff::container::changes {
namespace {

/// The bits of a mode that are compared: those that apply.cpp takes from a sandbox.
constexpr mode_t kPermissions = 0755;

bool lies_below(std::string_view path, std::string_view directory) {
  return directory.empty() ||
         (path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/');
}

std::string below(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string{name} : std::string{directory}.append("/").append(name);
}

std::string name_for_tree(const std::string& path) {
  return path.empty() ? "." : path;
}

std::optional<struct stat> status_at(int directory, const std::string& name) {
  struct stat status{};
  if (directory < 0 || ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status;
}

Result<std::vector<std::string>> names_of(int directory) {
  SKIFF_TRY(auto reader, fs::DirectoryReader::open(directory));
  std::vector<std::string> names;
  for (fs::DirectoryReader::Name found;;) {
    SKIFF_TRY(auto got, reader.next(found));
    if (!got) break;
    names.emplace_back(found.name);
  }
  std::ranges::sort(names);
  return names;
}

UniqueFd open_for_reading(int directory, const std::string& name) {
  return UniqueFd{::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
}

class Comparison {
 public:
  Comparison(const Workspace& workspace, const std::vector<std::string>& paths, const std::stop_token& stop)
      : workspace_{workspace}, paths_{paths}, stop_{stop} {}

  Result<Found> run() {
    open_.push_back({.path = {}, .has_below = true});
    while (!open_.empty()) {
      if (stop_.stop_requested()) return fs::stopped_error();
      const Directory next = std::move(open_.back());
      open_.pop_back();
      SKIFF_TRY_VOID(visit(next));
      if (found_.changes.size() > kMostChanges) {
        return fail(Errc::payload_too_large, "there are more than a million changes: name paths");
      }
    }
    std::ranges::sort(found_.changes, {}, &Change::path);
    std::ranges::sort(found_.left_out, {}, &LeftOut::path);
    SKIFF_TRY_VOID(check_paths());
    return std::move(found_);
  }

 private:
  /// A directory of the layer that waits for its visit.
  struct Directory {
    std::string path;
    bool has_below = false;  ///< the directory below the layer has it, too
    bool is_opaque = false;  ///< nothing of that one is seen
  };
  /// A directory and the one below it, both open.
  struct Pair {
    const Directory& directory;
    UniqueFd layer;
    UniqueFd below;
    Opacity opacity;
  };

  [[nodiscard]] bool is_wanted(std::string_view path) const {
    return paths_.empty() || std::ranges::any_of(paths_, [&](const std::string& one) {
             return one.empty() || path == one || lies_below(path, one);
           });
  }
  /// True for a directory with a wanted path in it.
  [[nodiscard]] bool leads_on(std::string_view path) const {
    return std::ranges::any_of(paths_, [&](const std::string& one) { return lies_below(one, path); });
  }

  void leave_out(std::string path, Why why, std::string detail) {
    found_.left_out.push_back({.path = std::move(path), .why = why, .detail = std::move(detail)});
  }
  void leave_out(const std::string& path, const Error& error) { leave_out(path, Why::unreadable, error.message); }

  Result<> visit(const Directory& directory) {
    auto layer = workspace_.layer.open_directory(name_for_tree(directory.path));
    if (!layer) {
      // The sandbox may have removed it since.
      if (layer.error().code != Errc::path_not_found) leave_out(directory.path, layer.error());
      return {};
    }
    Pair pair{.directory = directory, .layer = std::move(*layer), .below = {}, .opacity = {}};
    if (directory.has_below) {
      auto under = workspace_.directory.open_directory(name_for_tree(directory.path));
      if (!under) {
        leave_out(directory.path, under.error());
        return {};
      }
      pair.below = std::move(*under);
    }
    pair.opacity = opacity_of(pair.layer.get());
    auto names = names_of(pair.layer.get());
    if (!names) {
      leave_out(directory.path, names.error());
      return {};
    }
    for (const std::string& name : *names) {
      if (stop_.stop_requested()) return fs::stopped_error();
      const std::string path = below(directory.path, name);
      if (is_wanted(path) || leads_on(path)) SKIFF_TRY_VOID(compare_name(pair, name, path));
    }
    if (directory.has_below && (directory.is_opaque || pair.opacity.is_opaque)) find_hidden(pair, *names);
    return {};
  }

  Result<> compare_name(const Pair& pair, const std::string& name, const std::string& path) {
    const auto now = status_at(pair.layer.get(), name);
    if (!now) return {};
    const auto old = status_at(pair.below.get(), name);
    if (is_whiteout(pair.layer.get(), name.c_str(), *now, pair.opacity)) {
      if (old) delete_name(path, old->st_mode);
      return {};
    }
    if (S_ISDIR(now->st_mode)) {
      compare_directory(pair, name, path, *now, old);
      return {};
    }
    if (!is_wanted(path)) return {};
    Change change{.path = path,
                  .kind = old ? Kind::changed : Kind::added,
                  .mode = now->st_mode,
                  .old_mode = old ? old->st_mode : 0};
    if (S_ISREG(now->st_mode)) change.size = static_cast<std::uint64_t>(now->st_size);
    if (S_ISLNK(now->st_mode)) {
      auto target = target_at(pair.layer.get(), name);
      if (!target) {
        leave_out(path, target.error());
        return {};
      }
      change.target = std::move(*target);
    }
    if (old) {
      auto same = is_same(pair, name, *now, *old, change.target);
      if (!same && same.error().code == Errc::cancelled) return std::unexpected{std::move(same.error())};
      if (!same) leave_out(path, same.error());
      if (!same || *same) return {};
    }
    found_.changes.push_back(std::move(change));
    return {};
  }

  void compare_directory(const Pair& pair, const std::string& name, const std::string& path, const struct stat& now,
                         const std::optional<struct stat>& old) {
    const bool has_below = old && S_ISDIR(old->st_mode);
    if (has_below && fs::is_mount_point(pair.below.get(), name)) {
      return leave_out(path, Why::other_mount, "another file system is mounted there, which the sandbox does not see");
    }
    const bool is_same_mode = has_below && ((now.st_mode ^ old->st_mode) & kPermissions) == 0;
    if (!is_same_mode && is_wanted(path)) {
      found_.changes.push_back({.path = path,
                                .kind = old ? Kind::changed : Kind::added,
                                .mode = now.st_mode,
                                .old_mode = old ? old->st_mode : 0});
    }
    open_.push_back(
        {.path = path, .has_below = has_below, .is_opaque = pair.directory.is_opaque || pair.opacity.is_opaque});
  }

  [[nodiscard]] static Result<std::string> target_at(int directory, const std::string& name) {
    const UniqueFd link{::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!link) return std::unexpected{system_error(errno, "open " + fs::in_quotes(name))};
    return target_of(link.get());
  }

  [[nodiscard]] Result<bool> is_same(const Pair& pair, const std::string& name, const struct stat& now,
                                     const struct stat& old, const std::string& target) const {
    if ((now.st_mode & S_IFMT) != (old.st_mode & S_IFMT)) return false;
    if (S_ISLNK(now.st_mode)) {
      SKIFF_TRY(auto before, target_at(pair.below.get(), name));
      return before == target;
    }
    if (((now.st_mode ^ old.st_mode) & kPermissions) != 0) return false;
    if (!S_ISREG(now.st_mode)) return now.st_rdev == old.st_rdev;
    if (now.st_size != old.st_size) return false;
    const UniqueFd one = open_for_reading(pair.layer.get(), name);
    const UniqueFd other = one ? open_for_reading(pair.below.get(), name) : UniqueFd{};
    if (!other) return std::unexpected{system_error(errno, "read " + fs::in_quotes(name))};
    return has_same_bytes(one.get(), other.get(), stop_);
  }

  /// What an opaque directory hides is gone.
  void find_hidden(const Pair& pair, const std::vector<std::string>& seen) {
    auto names = names_of(pair.below.get());
    if (!names) return leave_out(pair.directory.path, names.error());
    for (const std::string& name : *names) {
      if (std::ranges::binary_search(seen, name)) continue;
      const auto old = status_at(pair.below.get(), name);
      if (old) delete_name(below(pair.directory.path, name), old->st_mode);
    }
  }

  void delete_name(const std::string& path, mode_t old_mode) {
    const auto add = [&](const std::string& gone, mode_t mode) {
      found_.changes.push_back({.path = gone, .kind = Kind::deleted, .mode = 0, .old_mode = mode});
    };
    if (is_wanted(path)) return add(path, old_mode);
    for (const std::string& wanted : paths_) {
      if (!lies_below(wanted, path)) continue;
      auto object = workspace_.directory.open_object(wanted, fs::Links::keep);
      struct stat status{};
      if (object && ::fstat(object->get(), &status) == 0) add(wanted, status.st_mode);
    }
  }

  /// A path that neither the directory nor the layer has is a mistake.
  [[nodiscard]] Result<> check_paths() const {
    for (const std::string& path : paths_) {
      const std::string name = name_for_tree(path);
      if (workspace_.directory.open_object(name, fs::Links::keep) ||
          workspace_.layer.open_object(name, fs::Links::keep)) {
        continue;
      }
      return fail(Errc::path_not_found, "there is no " + fs::in_quotes(path) + " in " +
                                            fs::in_quotes(workspace_.mount.directory) + ", and the sandbox has none");
    }
    return {};
  }

  const Workspace& workspace_;
  const std::vector<std::string>& paths_;
  const std::stop_token& stop_;
  std::vector<Directory> open_;
  Found found_;
};

}  // namespace

Result<std::string> relative_path(const MountedLayer& mount, const std::string& path) {
  std::string_view rest{path};
  for (const std::string& root : {mount.directory, mount.seen_as}) {
    if (rest == root || lies_below(rest, root)) {
      rest.remove_prefix(root.size());
      break;
    }
  }
  if (rest.size() != path.size()) {
    while (rest.starts_with('/')) rest.remove_prefix(1);
  }
  return fs::clean_path(rest);
}

Result<Found> compare(const Workspace& workspace, const std::vector<std::string>& paths, const std::stop_token& stop) {
  return Comparison{workspace, paths, stop}.run();
}

}  // namespace skiff::container::changes
