#include "fs/path/resolve.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <ranges>
#include <utility>

#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

constexpr int kMostLinks = 40;      // as the kernel's MAXSYMLINKS
constexpr int kMostSteps = 16'384;  // opens for one path, including those for ".."; far above any real path
constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;

class Resolver {
 public:
  Resolver(std::span<const RootDirectory> roots, ResolveOptions options, std::string_view path)
      : roots_{roots}, options_{options}, path_{path} {}

  Result<Resolved> run(std::size_t root, std::span<const std::string_view> names, bool directory) {
    root_ = root;
    directory_ = directory;
    push(names);
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      if (++steps_ > kMostSteps)
        return fail(Errc::too_many_links, "resolve " + in_quotes(path_) + ": it needs too many steps");
      if (name == "..") {
        SKIFF_TRY_VOID(ascend());
        continue;
      }
      SKIFF_TRY(auto found, step(name));
      if (found) return std::move(*found);
    }
    return here_itself();
  }

 private:
  struct Level {
    std::string name;
    Access access;
  };

  [[nodiscard]] int here() const { return here_ ? here_.get() : roots_[root_].fd.get(); }
  [[nodiscard]] Access access() const { return levels_.empty() ? roots_[root_].access : levels_.back().access; }
  /// A root may lie inside another one: below it, its own access applies.
  [[nodiscard]] Access access_to(const struct stat& status) const {
    for (const RootDirectory& root : roots_) {
      if (same_object(root.status, status)) return root.access;
    }
    return access();
  }

  [[nodiscard]] std::unexpected<Error> failed(int error) const {
    return std::unexpected{system_error(error, "open " + in_quotes(path_))};
  }
  [[nodiscard]] std::unexpected<Error> not_a_directory() const {
    const Errc code =
        options_.missing == Missing::allow || pending_.empty() ? Errc::not_a_directory : Errc::path_not_found;
    return fail(code, "open " + in_quotes(path_) + ": " + errno_text(ENOTDIR));
  }
  [[nodiscard]] std::unexpected<Error> escapes(std::string_view why) const {
    return fail(Errc::path_escapes_root, in_quotes(path_) + " leaves the session's roots: " + std::string{why});
  }

  void push(std::span<const std::string_view> names) {
    for (const std::string_view name : names | std::views::reverse) pending_.emplace_back(name);
  }

  /// Walks one name below `here()`; returns the result when it was the last.
  Result<std::optional<Resolved>> step(const std::string& name) {
    const bool last = pending_.empty();
    UniqueFd object{::openat(here(), name.c_str(), kLook)};
    if (!object) return missing(name, errno, last);
    struct stat status{};
    if (::fstat(object.get(), &status) != 0) return failed(errno);
    if (S_ISLNK(status.st_mode) && (!last || directory_ || options_.last == Links::follow)) {
      SKIFF_TRY_VOID(follow(object.get()));
      return std::nullopt;
    }
    if (!S_ISDIR(status.st_mode) && (!last || directory_)) return not_a_directory();
    if (!last) {
      levels_.push_back({name, access_to(status)});
      here_ = std::move(object);
      return std::nullopt;
    }
    return finish(name, std::move(object), status);
  }

  Result<std::optional<Resolved>> missing(const std::string& name, int error, bool last) {
    if (error != ENOENT || (last ? options_.missing == Missing::refuse : options_.parents == Parents::require)) {
      return error == ENOTDIR ? not_a_directory() : failed(error);
    }
    if (last) return finish(name, {}, {});
    if (access() != Access::read_write) return refuse_write(path_);
    if (::mkdirat(here(), name.c_str(), 0777) == 0) {
      made_.add(here(), name);
    } else if (errno != EEXIST) {
      return std::unexpected{system_error(errno, "make the directories of " + in_quotes(path_))};
    }
    pending_.push_back(name);
    return std::nullopt;
  }

  Result<std::optional<Resolved>> finish(const std::string& name, UniqueFd object, const struct stat& status) {
    Resolved found;
    found.parent = here_ ? std::move(here_) : UniqueFd{::openat(here(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!found.parent) return failed(errno);
    found.name = name;
    found.parent_access = access();
    found.access = object && S_ISDIR(status.st_mode) ? access_to(status) : access();
    found.object = std::move(object);
    found.status = status;
    found.directory = directory_;
    found.made = std::move(made_);
    return found;
  }

  Result<Resolved> here_itself() {
    Resolved found;
    found.object.reset(::openat(here(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!found.object || ::fstat(found.object.get(), &found.status) != 0) return failed(errno);
    found.access = access();
    found.directory = true;
    return found;
  }

  /// Goes up one directory by walking down again from the root: the kernel's own ".." may lead anywhere by now.
  Result<> ascend() {
    if (levels_.empty()) {
      if (roots_[root_].system) return {};
      return escapes("\"..\" above a root");
    }
    levels_.pop_back();
    here_.reset();
    for (const Level& level : levels_) {
      if (++steps_ > kMostSteps)
        return fail(Errc::too_many_links, "resolve " + in_quotes(path_) + ": it needs too many steps");
      here_.reset(::openat(here(), level.name.c_str(), kLook | O_DIRECTORY));
      if (!here_) return failed(errno);
    }
    return {};
  }

  Result<> follow(int link) {
    if (options_.refuses_links) return fail(Errc::too_many_links, in_quotes(path_) + " leads through a link");
    if (++links_ > kMostLinks) return fail(Errc::too_many_links, "open " + in_quotes(path_) + ": too many links");
    std::array<char, kMostPathBytes + 1> buffer;
    const ssize_t size = ::readlinkat(link, "", buffer.data(), buffer.size());
    if (size < 0) return failed(errno);
    const std::string target{buffer.data(), static_cast<std::size_t>(size)};
    struct statfs system{};
    // The plain links of procfs are relative ("self", "self/mounts"); its magic links show an absolute path or
    // "kind:[number]".
    if (::fstatfs(link, &system) != 0) return failed(errno);
    if (system.f_type == PROC_SUPER_MAGIC && (target.starts_with('/') || target.contains(':'))) {
      return escapes("a magic link of /proc");
    }
    SKIFF_TRY(auto split, split_path(target));
    if (pending_.empty() && split.directory) directory_ = true;
    std::span<const std::string_view> names{split.names};
    if (split.absolute) {
      SKIFF_TRY(auto start, find_start(roots_, names, path_));
      root_ = start.root;
      names = names.subspan(start.names);
      levels_.clear();
      here_.reset();
    }
    push(names);
    return {};
  }

  MadeDirectories made_;
  std::span<const RootDirectory> roots_;
  ResolveOptions options_;
  std::string_view path_;
  std::size_t root_ = 0;
  UniqueFd here_;                     // current directory of the walk; none: at the root
  std::vector<Level> levels_;         // directories from the root to the current one
  std::vector<std::string> pending_;  // names that remain to be walked, the next one last
  bool directory_ = false;
  int links_ = 0;
  int steps_ = 0;
};

}  // namespace

Result<Start> find_start(std::span<const RootDirectory> roots, std::span<const std::string_view> names,
                         std::string_view path) {
  std::optional<Start> best;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    for (const auto* prefix : {&roots[i].names, &roots[i].real}) {
      if (prefix->size() > names.size() || !std::ranges::equal(*prefix, names.first(prefix->size()))) continue;
      if (!best || prefix->size() > best->names) best = Start{.root = i, .names = prefix->size()};
    }
  }
  if (best) return *best;
  return fail(Errc::path_escapes_root, in_quotes(path) + " is below none of the session's roots");
}

Result<Resolved> resolve(std::span<const RootDirectory> roots, std::size_t root,
                         std::span<const std::string_view> names, bool directory, ResolveOptions options,
                         std::string_view path) {
  return Resolver{roots, options, path}.run(root, names, directory);
}

std::unexpected<Error> refuse_write(std::string_view path) {
  return fail(Errc::permission_denied, in_quotes(path) + " is below a root that can only be read");
}

}  // namespace skiff::fs
