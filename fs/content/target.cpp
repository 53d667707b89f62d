#include "fs/content/target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "fs/content/kept_attributes.hpp"
#include "fs/path/descriptor.hpp"

namespace skiff::fs {
namespace {

constexpr auto kUnchanged = static_cast<uid_t>(-1);

Result<> check_conditions(const Location& location, const Conditions& conditions, const std::optional<Entry>& entry,
                          std::string_view path, const std::stop_token& stop) {
  if (conditions.must_be_new && entry) return fail(Errc::precondition_failed, in_quotes(path) + " exists");
  if (!conditions.if_match) return {};
  if (!entry) return fail(Errc::precondition_failed, in_quotes(path) + " does not exist");
  const UniqueFd object{::openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  if (!object) return std::unexpected{system_error(errno, "open " + in_quotes(path))};
  SKIFF_TRY(auto now, entry_of(object.get()));
  SKIFF_TRY(auto matches, conditions.if_match->match(object.get(), now, stop));
  if (!matches) return fail(Errc::precondition_failed, in_quotes(path) + " was changed: it has another entity tag");
  return {};
}

}  // namespace

Result<std::optional<Entry>> check_target(const Location& location, const Conditions& conditions, std::string_view path,
                                          const std::stop_token& stop) {
  std::optional<Entry> entry;
  auto looked = entry_at(location.parent.get(), location.name.c_str());
  if (looked) {
    entry = std::move(*looked);
  } else if (looked.error().code != Errc::path_not_found) {
    return std::unexpected{std::move(looked.error())};
  }
  SKIFF_TRY_VOID(check_conditions(location, conditions, entry, path, stop));
  return entry;
}

Result<std::optional<Entry>> check_file_target(const Location& location, const Conditions& conditions,
                                               std::string_view path, const std::stop_token& stop) {
  if (location.directory) return fail(Errc::is_a_directory, in_quotes(path) + " names a directory");
  auto entry = check_target(location, conditions, path, stop);
  if (!entry || !*entry || (**entry).type == EntryType::file) return entry;
  if ((**entry).type == EntryType::directory) return fail(Errc::is_a_directory, in_quotes(path) + " is a directory");
  return fail(Errc::not_a_regular_file, in_quotes(path) + " is a " + std::string{name((**entry).type)});
}

Result<> set_attributes(int fd, const Attributes& attributes, const Location& location,
                        const std::optional<Entry>& replaced) {
  std::optional<mode_t> mode = attributes.mode;
  std::optional<mode_t> has;  // known mode of the new file
  if (attributes.uid || attributes.gid) {
    if (::fchown(fd, attributes.uid.value_or(kUnchanged), attributes.gid.value_or(kUnchanged)) != 0) {
      return std::unexpected{system_error(errno, "set the owner")};
    }
  }
  if (replaced) {
    SKIFF_TRY(auto status, status_of(fd));
    const uid_t uid = attributes.uid.value_or(replaced->uid);
    const gid_t gid = attributes.gid.value_or(replaced->gid);
    const bool differs = uid != status.st_uid || gid != status.st_gid;
    const bool owner_kept = !differs || ::fchown(fd, uid, gid) == 0;
    const bool group_kept = owner_kept || gid == status.st_gid || ::fchown(fd, kUnchanged, gid) == 0;
    // Under another owner the same list would grant rights to other users.
    SKIFF_TRY(auto list,
              keep_attributes(location, *replaced, fd, {.list = owner_kept, .not_kept = attributes.not_kept}));
    if (!differs && !list.had) has = status.st_mode & 07777U;
    // Set the mode after the owner: chown(2) clears the set-id bits. They were granted for the old bytes, so they are
    // lost unless the client asks for them, as after a write(2).
    mode_t kept = replaced->mode & (owner_kept ? 01777U : 0777U);
    if (list.had && !list.kept) kept = (kept & ~mode_t{S_IRWXG}) | list.group;
    // Another group gets at most the rights of all users.
    if (!group_kept) kept &= ~mode_t{S_IRWXG} | ((kept & S_IRWXO) << 3U);
    if (!mode) mode = kept;
  }
  if (mode && mode != has && ::fchmod(fd, *mode & 07777U) != 0)
    return std::unexpected{system_error(errno, "set the mode")};
  return stamp(fd, attributes.modified);
}

Result<> stamp(int fd, std::optional<FileTime> modified) {
  const auto since = modified.value_or(file_time_now()).time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::array times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                         timespec{.tv_sec = seconds.count(), .tv_nsec = (since - seconds).count()}};
  if (::futimens(fd, times.data()) != 0) return std::unexpected{system_error(errno, "set the time")};
  return {};
}

Result<Written> written(int fd, bool created) {
  SKIFF_TRY(auto entry, entry_of(fd));
  std::string tag = entity_tag(fd, entry).value_or(std::string{});
  return Written{.entry = std::move(entry), .tag = std::move(tag), .created = created};
}

}  // namespace skiff::fs
