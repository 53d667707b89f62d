#include "fs/tree/change.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "fs/content/in_place.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/name_lock.hpp"
#include "fs/tree/copy.hpp"
#include "fs/tree/remove.hpp"

namespace skiff::fs {
namespace {

UniqueFd look(const Location& location) {
  return UniqueFd{::openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
}

Result<Written> what_is_at(const Location& location, bool created) {
  const UniqueFd object = look(location);
  if (!object) return std::unexpected{system_error(errno, "open " + in_quotes(location.name))};
  return written(object.get(), created);
}

std::unexpected<Error> failed(int error, std::string_view verb, std::string_view path) {
  const std::string attempted = std::string{verb} + " " + in_quotes(path);
  if (error == ENOTDIR) return fail(Errc::not_a_directory, attempted + ": " + errno_text(error));
  if (error == EINVAL) return fail(Errc::invalid_field, attempted + ": a directory can't be put into itself", "to");
  return std::unexpected{system_error(error, attempted)};
}

/// Two places, their locks, and the entry at the first place, which must exist.
struct Ends {
  Location from;
  Location to;
  NameLock lock;
  Entry entry;
  bool same = false;  ///< both are the same name in the same directory
};

Result<Ends> find_ends(const Tree& tree, Location from, std::string_view from_path, std::string_view to_path,
                       const Transfer& options) {
  SKIFF_TRY(auto to, tree.locate(to_path, Links::keep, options.parents));
  auto from_key = key_of(from.parent.get(), from.name);
  auto to_key = key_of(to.parent.get(), to.name);
  if (!from_key) return std::unexpected{std::move(from_key.error())};
  if (!to_key) return std::unexpected{std::move(to_key.error())};
  const bool same = *from_key == *to_key;
  std::vector<NameKey> keys;
  keys.push_back(std::move(*from_key));
  keys.push_back(std::move(*to_key));
  NameLock lock{std::move(keys)};
  SKIFF_TRY(auto entry, check_target(from, options.conditions, from_path, options.stop));
  if (!entry) return fail(Errc::path_not_found, "there is no " + in_quotes(from_path));
  if (to.directory && entry->type != EntryType::directory) {
    return fail(Errc::not_a_directory,
                in_quotes(to_path) + " names a directory, " + in_quotes(from_path) + " is not one");
  }
  return Ends{
      .from = std::move(from), .to = std::move(to), .lock = std::move(lock), .entry = std::move(*entry), .same = same};
}

/// Copies under a temporary name beside the destination, then renames the copy.
Result<std::uint64_t> copy_into_place(const Tree& tree, int object, std::string_view from_path, const Location& to,
                                      std::string_view to_path, const Transfer& options, Keep keep, bool replaces) {
  const int directory = to.parent.get();
  const std::string temporary = temporary_name(replaces ? Becomes::replacement : Becomes::something_new);
  auto copied = copy_tree(object, std::string{from_path}, directory, temporary, keep, options.stop);
  int error = 0;
  if (copied) {
    error = rename_new(directory, temporary, directory, to.name);
    if (error == EEXIST && options.existing == Existing::replace) {
      error = ::renameat(directory, temporary.c_str(), directory, to.name.c_str()) == 0 ? 0 : errno;
    }
    if (error == 0) return copied;
  }
  [[maybe_unused]] const auto removed = remove_tree(tree, directory, temporary);
  if (!copied) return copied;
  return failed(error, "write", to_path);
}

/// Checks the destination early, before a large copy.
Result<std::optional<Entry>> check_free(const Location& to, std::string_view path, Existing existing) {
  auto entry = check_target(to, {}, path);
  if (entry && *entry && existing == Existing::refuse) return fail(Errc::already_exists, in_quotes(path) + " exists");
  return entry;
}

bool same_inode(const Entry& one, const std::optional<Entry>& other) {
  return other && one.device == other->device && one.inode == other->inode;
}

}  // namespace

Result<Written> create_directory(const Tree& tree, std::string_view path, Parents parents) {
  if (parents == Parents::make) {
    if (auto existing = tree.open_object(path, Links::follow)) {
      auto status = status_of(existing->get());
      if (status && S_ISDIR(status->st_mode)) return written(existing->get(), false);
    }
  }
  SKIFF_TRY(auto location, tree.locate(path, Links::keep, parents));
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  if (::mkdirat(location.parent.get(), location.name.c_str(), 0777) != 0) return failed(errno, "make", path);
  return what_is_at(location, true);
}

Result<Written> create_link(const Tree& tree, std::string_view path, std::string_view target, Parents parents) {
  const std::string text{target};
  if (text.empty() || text.contains('\0')) {
    return fail(Errc::invalid_field, "a link's target is not empty and holds no NUL byte", "target");
  }
  SKIFF_TRY(auto location, tree.locate(path, Links::keep, parents));
  if (location.directory) return fail(Errc::is_a_directory, in_quotes(path) + " names a directory");
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  if (::symlinkat(text.c_str(), location.parent.get(), location.name.c_str()) != 0) return failed(errno, "make", path);
  return what_is_at(location, true);
}

Result<Written> set_mode(const Tree& tree, std::string_view path, mode_t mode, const Conditions& conditions,
                         const std::stop_token& stop) {
  std::optional<NameLock> lock;
  if (conditions.if_match) {
    SKIFF_TRY(auto location, tree.locate(path, Links::follow));
    SKIFF_TRY(auto key, key_of(location.parent.get(), location.name));
    std::vector<NameKey> keys;
    keys.push_back(std::move(key));
    lock.emplace(std::move(keys));
  }
  // Open the object once, so that the checked object is the changed one.
  SKIFF_TRY(auto object, tree.open_object(path, Links::follow, Use::change));
  if (conditions.if_match) {
    SKIFF_TRY(auto entry, entry_of(object.get()));
    SKIFF_TRY(auto matches, conditions.if_match->match(object.get(), entry, stop));
    if (!matches) return fail(Errc::precondition_failed, in_quotes(path) + " was changed: it has another entity tag");
  }
  if (::chmod(proc_path(object.get()).c_str(), mode & 07777U) != 0) return failed(errno, "set the mode of", path);
  return written(object.get(), false);
}

Result<> remove(const Tree& tree, std::string_view path, Contents contents, const Conditions& conditions,
                const std::stop_token& stop) {
  SKIFF_TRY(auto location, tree.locate(path, Links::keep));
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  SKIFF_TRY(auto entry, check_target(location, conditions, path, stop));
  if (!entry) return fail(Errc::path_not_found, "there is no " + in_quotes(path));
  const bool directory = entry->type == EntryType::directory;
  if (directory && contents == Contents::remove) return remove_tree(tree, location.parent.get(), location.name, stop);
  if (::unlinkat(location.parent.get(), location.name.c_str(), directory ? AT_REMOVEDIR : 0) == 0) return {};
  return failed(errno == EEXIST ? ENOTEMPTY : errno, "remove", path);
}

Result<Written> move(const Tree& tree, std::string_view from, std::string_view to, const Transfer& options) {
  SKIFF_TRY(auto location, tree.locate(from, Links::keep));
  SKIFF_TRY(auto ends, find_ends(tree, std::move(location), from, to, options));
  if (ends.same) return what_is_at(ends.to, false);
  SKIFF_TRY(auto replaced, check_free(ends.to, to, options.existing));
  const int from_directory = ends.from.parent.get();
  const int to_directory = ends.to.parent.get();
  int error = rename_new(from_directory, ends.from.name, to_directory, ends.to.name);
  if (error == EEXIST && options.existing == Existing::replace) {
    error = ::renameat(from_directory, ends.from.name.c_str(), to_directory, ends.to.name.c_str()) == 0 ? 0 : errno;
    // rename(2) between two names of one file does nothing.
    if (error == 0 && same_inode(ends.entry, replaced)) (void)::unlinkat(from_directory, ends.from.name.c_str(), 0);
  }
  // The copy could be made, and the original not be removed.
  if (error == EXDEV && is_mount_point(from_directory, ends.from.name)) error = EBUSY;
  if (error == EXDEV) {
    const UniqueFd object = look(ends.from);
    if (!object) return failed(errno, "move", from);
    auto moved =
        copy_into_place(tree, object.get(), from, ends.to, to, options, Keep::everything, replaced.has_value());
    if (!moved) return std::unexpected{std::move(moved.error())};
    SKIFF_TRY_VOID(remove_tree(tree, from_directory, ends.from.name));
    error = 0;
  }
  if (error != 0) return failed(error, "move " + in_quotes(from) + " to", to);
  return what_is_at(ends.to, !replaced.has_value());
}

Result<Written> copy(const Tree& tree, std::string_view from, std::string_view to, const Transfer& options) {
  // The source is only read: it may lie below a read-only root, or be a root.
  SKIFF_TRY(auto object, tree.open_object(from, Links::keep));
  SKIFF_TRY(auto source, entry_of(object.get()));
  if (options.conditions.if_match) {
    SKIFF_TRY(auto matches, options.conditions.if_match->match(object.get(), source, options.stop));
    if (!matches) return fail(Errc::precondition_failed, in_quotes(from) + " was changed: it has another entity tag");
  }
  SKIFF_TRY(auto location, tree.locate(to, Links::keep, options.parents));
  if (location.directory && source.type != EntryType::directory) {
    return fail(Errc::not_a_directory, in_quotes(to) + " names a directory, " + in_quotes(from) + " is not one");
  }
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  SKIFF_TRY(auto replaced, check_free(location, to, options.existing));
  if (same_inode(source, replaced)) return what_is_at(location, false);
  SKIFF_TRY(const auto special,
            copy_into_place(tree, object.get(), from, location, to, options, Keep::mode, replaced.has_value()));
  auto copied = what_is_at(location, !replaced.has_value());
  if (copied) copied->special = special;
  return copied;
}

}  // namespace skiff::fs
