#include "container/changes/conflict.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "fs/content/in_place.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/path.hpp"

namespace skiff::container::changes {
namespace {

LeftOut conflict_at(std::string path) {
  return {.path = std::move(path), .why = Why::conflict, .detail = "it has changed here since the sandbox was created"};
}

LeftOut unreadable_at(std::string path, const Error& error) {
  return {.path = std::move(path), .why = Why::unreadable, .detail = error.message};
}

/// Names the place in a directory where the reason is.
LeftOut for_directory(const std::string& path, LeftOut inner) {
  if (inner.path != path) inner.detail = fs::in_quotes(inner.path) + ": " + inner.detail;
  inner.path = path;
  return inner;
}

/// Looks at everything in a directory, and at the directory itself.
class TreeCheck {
 public:
  explicit TreeCheck(const Workspace& workspace) : workspace_{workspace} {}

  std::optional<LeftOut> run(const std::string& path) {
    waiting_.push_back(path);
    while (!waiting_.empty() && !found_) {
      const std::string next = std::move(waiting_.back());
      waiting_.pop_back();
      if (auto looked = look(next); !looked) return unreadable_at(next, looked.error());
    }
    return std::move(found_);
  }

 private:
  Result<> look(const std::string& path) {
    SKIFF_TRY(auto directory, workspace_.directory.open_directory(path));
    struct stat status{};
    if (::fstat(directory.get(), &status) != 0) return std::unexpected{system_error(errno, "stat a directory")};
    // A directory that was moved here has a new ctime, and what is in it has not.
    if (workspace_.applied.is_changed(status)) {
      found_ = conflict_at(path);
      return {};
    }
    SKIFF_TRY(auto reader, fs::DirectoryReader::open(directory.get()));
    for (fs::DirectoryReader::Name name;;) {
      SKIFF_TRY(auto got, reader.next(name));
      if (!got || found_) return {};
      const std::string inner{name.name};
      const std::string inner_path = std::string{path}.append("/").append(inner);
      if (::fstatat(directory.get(), inner.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;
        return std::unexpected{system_error(errno, "stat " + fs::in_quotes(inner_path))};
      }
      if (S_ISDIR(status.st_mode)) {
        if (fs::is_mount_point(directory.get(), inner)) {
          found_ = LeftOut{.path = inner_path,
                           .why = Why::other_mount,
                           .detail = "another file system is mounted there, which the sandbox does not see"};
        }
        waiting_.push_back(inner_path);
      } else if (workspace_.applied.is_changed(status)) {
        found_ = conflict_at(inner_path);
      }
    }
  }

  const Workspace& workspace_;
  std::vector<std::string> waiting_;
  std::optional<LeftOut> found_;
};

}  // namespace

std::optional<LeftOut> find_conflict(const Workspace& workspace, const Change& change) {
  auto object = workspace.directory.open_object(change.path, fs::Links::keep);
  if (!object) {
    if (object.error().code == Errc::path_not_found) return std::nullopt;
    return LeftOut{.path = change.path, .why = Why::failed, .detail = object.error().message};
  }
  struct stat there{};
  if (::fstat(object->get(), &there) != 0) return unreadable_at(change.path, system_error(errno, "stat a file"));
  if (S_ISDIR(there.st_mode)) {
    // A directory that stays one gets new permissions at most.
    if (S_ISDIR(change.mode)) return std::nullopt;
    auto found = TreeCheck{workspace}.run(change.path);
    if (found) return for_directory(change.path, std::move(*found));
    return std::nullopt;
  }
  if (workspace.applied.is_changed(there)) return conflict_at(change.path);
  return std::nullopt;
}

}  // namespace skiff::container::changes
