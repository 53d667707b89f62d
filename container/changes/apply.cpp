#include "container/changes/apply.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "container/changes/conflict.hpp"
#include "container/changes/consent.hpp"
#include "container/changes/equal.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/owner.hpp"
#include "fs/path/path.hpp"
#include "fs/path/stop.hpp"
#include "fs/path/temporary_name.hpp"
#include "fs/tree/copy.hpp"
#include "fs/tree/remove.hpp"

namespace skiff::container::changes {
namespace {

/// The bits that a sandbox may set anywhere; compare.cpp compares the same.
constexpr mode_t kPermitted = 0755;
/// Bits that a file or directory keeps if it has them already: others may write, and the sticky bit limits them.
constexpr mode_t kKept = 01022;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool is_special(mode_t mode) {
  return mode != 0 && !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/// Where a change is made: the directory that holds the name, and what has the name now.
struct Target {
  fs::Location location;
  std::optional<struct stat> there;

  [[nodiscard]] int parent() const { return location.parent.get(); }
  [[nodiscard]] const std::string& name() const { return location.name; }
  [[nodiscard]] bool is_directory() const { return there && S_ISDIR(there->st_mode); }
};

/// The mode that a file or directory gets, of the one that the sandbox wants.
mode_t permitted(mode_t wanted, const Target& target) {
  const bool is_same_type = target.there && ((target.there->st_mode ^ wanted) & S_IFMT) == 0;
  return wanted & (kPermitted | (is_same_type ? target.there->st_mode & kKept : 0U));
}

/// The repository of git whose own file the path is: the path up to its .git; empty if it is none.
std::string repository_of(std::string_view path) {
  constexpr std::string_view kName = ".git";
  for (std::size_t at = path.find(kName); at != std::string_view::npos; at = path.find(kName, at + 1)) {
    const std::size_t end = at + kName.size();
    if ((at == 0 || path[at - 1] == '/') && (end == path.size() || path[end] == '/')) {
      return std::string{path.substr(0, end)};
    }
  }
  return {};
}

class Application {
 public:
  Application(Workspace& workspace, Consent consent, const std::stop_token& stop)
      : workspace_{workspace}, consent_{consent}, stop_{stop} {}

  /// Returns false if it was asked to stop.
  bool run(std::vector<Change> changes) {
    find_conflicting_repositories(changes);
    for (Change& change : changes) {
      if (stop_.stop_requested()) break;
      if (auto left = refuse(change)) {
        applied_.left_out.push_back(std::move(*left));
        continue;
      }
      auto done = make(change);
      if (!done && done.error().code == Errc::cancelled) break;
      if (!done) {
        leave_out(change, Why::failed, done.error().message);
      } else {
        applied_.done.push_back(std::move(change));
      }
    }
    set_modes();
    note_directories();
    return !stop_.stop_requested();
  }
  Applied result() && { return std::move(applied_); }

 private:
  void leave_out(const Change& change, Why why, std::string detail) {
    applied_.left_out.push_back({.path = change.path, .why = why, .detail = std::move(detail)});
  }

  /// Says why a change must not be made.
  [[nodiscard]] std::optional<LeftOut> refuse(const Change& change) const {
    if (is_special(change.mode)) {
      return LeftOut{.path = change.path,
                     .why = Why::special,
                     .detail = "a " + std::string{type_word(change.mode)} + " is not copied"};
    }
    if (consent_ == Consent::refused) {
      if (auto why = why_consent(change); !why.empty()) {
        return LeftOut{.path = change.path, .why = Why::consent, .detail = std::move(why)};
      }
    }
    if (auto conflict = find_conflict(workspace_, change)) return conflict;
    if (!repositories_.contains(repository_of(change.path))) return std::nullopt;
    return LeftOut{.path = change.path,
                   .why = Why::conflict,
                   .detail =
                       "another part of this repository has changed here, too, and a half of a commit destroys "
                       "the next one: fetch or copy the commit instead"};
  }

  /// The index, the references and the objects of a repository belong together.
  void find_conflicting_repositories(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      std::string repository = repository_of(change.path);
      if (repository.empty() || repositories_.contains(repository)) continue;
      if (find_conflict(workspace_, change)) repositories_.insert(std::move(repository));
    }
  }

  Result<> make(const Change& change) {
    const bool is_gone = change.kind == Kind::deleted;
    auto location =
        workspace_.directory.locate(change.path, fs::Links::keep, is_gone ? fs::Parents::require : fs::Parents::make);
    if (!location && is_gone && location.error().code == Errc::path_not_found) return {};
    if (!location) return std::unexpected{std::move(location.error())};
    Target target{.location = std::move(*location), .there = {}};
    struct stat status{};
    if (::fstatat(target.parent(), target.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) target.there = status;
    touch(directory_of(change.path), target.parent());
    if (is_gone) return clear(target);
    if (S_ISDIR(change.mode)) return make_directory(change, target);
    if (S_ISLNK(change.mode)) return make_link(change, target);
    return make_file(change, target);
  }

  /// Removes what has the name.
  Result<> clear(const Target& target) {
    if (!target.there) return {};
    if (target.is_directory()) {
      SKIFF_TRY_VOID(fs::remove_tree(workspace_.directory, target.parent(), target.name(), stop_));
    } else if (::unlinkat(target.parent(), target.name().c_str(), 0) != 0 && errno != ENOENT) {
      return std::unexpected{system_error(errno, "remove " + fs::in_quotes(target.name()))};
    }
    workspace_.applied.forget(*target.there);
    return {};
  }

  Result<> make_directory(const Change& change, const Target& target) {
    if (!target.is_directory()) {
      SKIFF_TRY_VOID(clear(target));
      if (::mkdirat(target.parent(), target.name().c_str(), 0700) != 0) {
        return std::unexpected{system_error(errno, "create " + fs::in_quotes(change.path))};
      }
      touched_[change.path] = true;
    }
    modes_.emplace_back(change.path, permitted(change.mode, target));
    return {};
  }

  Result<> make_file(const Change& change, const Target& target) {
    SKIFF_TRY(auto from, workspace_.layer.open_file(change.path, O_RDONLY));
    SKIFF_TRY(auto status, fs::status_of(from.get()));
    SKIFF_TRY(auto staged, fs::StagedFile::make(target.parent(), 0600));
    SKIFF_TRY_VOID(fs::copy_bytes(from.get(), staged.fd(), stop_));
    if (::fchmod(staged.fd(), permitted(status.st_mode, target)) != 0) {
      return std::unexpected{system_error(errno, "set the mode of " + fs::in_quotes(change.path))};
    }
    if (target.is_directory()) SKIFF_TRY_VOID(clear(target));
    const bool replaces = target.there && !target.is_directory();
    SKIFF_TRY_VOID(staged.publish(target.name(), replaces ? fs::Existing::replace : fs::Existing::refuse));
    note_new(staged.fd(), target);
    return {};
  }

  Result<> make_link(const Change& change, const Target& target) {
    SKIFF_TRY(auto object, workspace_.layer.open_object(change.path, fs::Links::keep));
    SKIFF_TRY(auto leads_to, target_of(object.get()));
    // The sandbox may have made another link of it since it was judged.
    if (leads_to != change.target) return fail(Errc::precondition_failed, "the sandbox has changed it meanwhile");
    const std::string temporary = fs::temporary_name(fs::Becomes::replacement);
    if (::symlinkat(leads_to.c_str(), target.parent(), temporary.c_str()) != 0) {
      return std::unexpected{system_error(errno, "create " + fs::in_quotes(change.path))};
    }
    const UniqueFd link{::openat(target.parent(), temporary.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    auto made = name_link(temporary, target);
    if (!made) {
      ::unlinkat(target.parent(), temporary.c_str(), 0);
      return made;
    }
    note_new(link.get(), target);
    return {};
  }

  Result<> name_link(const std::string& temporary, const Target& target) {
    if (target.is_directory()) SKIFF_TRY_VOID(clear(target));
    int error = 0;
    if (target.there && !target.is_directory()) {
      error = ::renameat(target.parent(), temporary.c_str(), target.parent(), target.name().c_str()) == 0 ? 0 : errno;
    } else {
      error = fs::rename_new(target.parent(), temporary, target.parent(), target.name());
    }
    if (error != 0) return std::unexpected{system_error(error, "create " + fs::in_quotes(target.name()))};
    return {};
  }

  void note_new(int object, const Target& target) {
    if (target.there) workspace_.applied.forget(*target.there);
    struct stat status{};
    if (::fstat(object, &status) == 0) workspace_.applied.note(status);
  }

  /// Remembers whether only `apply` has changed a directory, before it changes it.
  void touch(const std::string& path, int directory) {
    struct stat status{};
    if (::fstat(directory, &status) == 0) touched_.try_emplace(path, !workspace_.applied.is_changed(status));
  }

  /// Directories get their permissions last: what is in one that may not be written has its place by then.
  void set_modes() {
    for (const auto& [path, mode] : modes_ | std::views::reverse) {
      auto directory = workspace_.directory.open_directory(path);
      if (directory && ::fchmod(directory->get(), mode) == 0) continue;
      const Error error = directory ? system_error(errno, "set the mode of " + fs::in_quotes(path)) : directory.error();
      std::erase_if(applied_.done, [&path](const Change& one) { return one.path == path; });
      applied_.left_out.push_back({.path = path, .why = Why::failed, .detail = error.message});
    }
  }

  void note_directories() {
    for (const auto& [path, is_own] : touched_) {
      if (!is_own) continue;
      auto directory = workspace_.directory.open_object(path, fs::Links::keep);
      struct stat status{};
      if (directory && ::fstat(directory->get(), &status) == 0) workspace_.applied.note(status);
    }
  }

  Workspace& workspace_;
  std::set<std::string> repositories_;  ///< those of which a part has changed in the directory, too
  Consent consent_;
  const std::stop_token& stop_;
  Applied applied_;
  std::vector<std::pair<std::string, mode_t>> modes_;  ///< of directories
  std::map<std::string, bool> touched_;                ///< directories, and whether only `apply` has changed them
};

/// For root: what is new belongs to the owner of the directory.
Result<std::optional<fs::MadeFor>> act_for_owner(const Workspace& workspace) {
  const struct stat& owner = workspace.directory.roots().front().status;
  std::optional<fs::MadeFor> acting;
  if (::geteuid() == 0 && (owner.st_uid != 0 || owner.st_gid != ::getegid())) {
    SKIFF_TRY(auto made, fs::MadeFor::begin(owner.st_uid, owner.st_gid, workspace.mount.directory));
    acting.emplace(std::move(made));
  }
  return acting;
}

}  // namespace

Result<Applied> apply(Workspace& workspace, Found found, Consent consent, const std::stop_token& stop) {
  Application application{workspace, consent, stop};
  bool is_complete = false;
  {
    SKIFF_TRY(const auto owner, act_for_owner(workspace));
    is_complete = application.run(std::move(found.changes));
  }
  SKIFF_TRY_VOID(workspace.applied.save());
  if (!is_complete) return fs::stopped_error();
  Applied applied = std::move(application).result();
  std::ranges::move(found.left_out, std::back_inserter(applied.left_out));
  std::ranges::sort(applied.left_out, {}, &LeftOut::path);
  return applied;
}

}  // namespace skiff::container::changes
