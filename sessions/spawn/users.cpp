#include "sessions/spawn/users.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/scope_counter.hpp"

namespace skiff::sessions {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Parses a uid or gid. 2^32-1 is none: to the kernel it means "no change".
std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value == ~0U) return std::nullopt;
  return value;
}

/// Calls `visit` with the fields of each line that has at least `least` of them, until it returns true.
template <class Visit>
void each_line(const std::filesystem::path& file, std::size_t least, Visit visit) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const auto fields = split(line, ':');
    if (fields.size() >= least && visit(fields)) return;
  }
}

/// Fills in the passwd entry of the user with that name or, if `uid` is set, with that uid.
bool find_user(const std::filesystem::path& etc, std::string_view name, std::optional<unsigned> uid,
               Credentials& user) {
  bool found = false;
  each_line(etc / "passwd", 6, [&](const std::vector<std::string_view>& fields) {
    const auto line_uid = number(fields[2]);
    const auto line_gid = number(fields[3]);
    if (!line_uid || !line_gid || (uid ? *uid != *line_uid : fields[0] != name)) return false;
    user.uid = *line_uid;
    user.gid = *line_gid;
    user.name = fields[0];
    if (!fields[5].empty()) user.home = fields[5];
    if (fields.size() > 6 && !fields[6].empty()) user.shell = fields[6];
    return found = true;
  });
  return found;
}

/// The reason why a file cannot be read: ": /etc/passwd: Permission denied"; empty if it can.
std::string why_unread(const std::filesystem::path& file) {
  if (::access(file.c_str(), R_OK) == 0) return {};
  return ": " + file.string() + ": " + errno_text(errno);
}

std::optional<gid_t> find_group(const std::filesystem::path& etc, std::string_view name) {
  std::optional<gid_t> found;
  each_line(etc / "group", 3, [&](const std::vector<std::string_view>& fields) {
    if (fields[0] == name) found = number(fields[2]);
    return found.has_value();
  });
  return found;
}

std::vector<gid_t> groups_of(const std::filesystem::path& etc, std::string_view name) {
  std::vector<gid_t> groups;
  each_line(etc / "group", 4, [&](const std::vector<std::string_view>& fields) {
    const auto members = split(fields[3], ',');
    const auto gid = number(fields[2]);
    if (gid && std::ranges::find(members, name) != members.end()) groups.push_back(*gid);
    return false;
  });
  return groups;
}

}  // namespace

Result<Credentials> look_up_user(const std::string& user, const std::filesystem::path& etc) {
  const std::size_t colon = std::min(user.find(':'), user.size());
  const std::string_view name = std::string_view{user}.substr(0, colon);
  const bool with_group = colon < user.size();
  const std::string_view group = with_group ? std::string_view{user}.substr(colon + 1) : std::string_view{};

  Credentials found{.uid = 0, .gid = 0, .groups = {}, .name = std::string{name}, .home = "/", .shell = "/bin/sh"};
  // Look for a name before a number: passwd may have a user named "1000".
  if (name.empty() || !find_user(etc, name, std::nullopt, found)) {
    const auto uid = number(name);
    if (!uid)
      return fail(Errc::user_not_found, "there is no user \"" + std::string{name} + '"' + why_unread(etc / "passwd"));
    found.uid = *uid;
    found.name = std::to_string(*uid);
    find_user(etc, {}, uid, found);
  }
  if (with_group) {
    auto gid = find_group(etc, group);
    if (!gid) gid = number(group);
    if (!gid || group.empty())
      return fail(Errc::user_not_found, "there is no group \"" + std::string{group} + '"' + why_unread(etc / "group"));
    found.gid = *gid;
    found.groups = {*gid};
    return found;
  }
  found.groups = groups_of(etc, found.name);
  if (std::ranges::find(found.groups, found.gid) == found.groups.end())
    found.groups.insert(found.groups.begin(), found.gid);
  return found;
}

bool may_write_to_root(const Credentials& user) {
  if (user.uid == 0) return true;
  static const struct stat root = [] {
    struct stat found{};
    if (::stat("/", &found) != 0) found = {};
    return found;
  }();
  if (root.st_uid == user.uid) return (root.st_mode & S_IWUSR) != 0;
  const bool is_member = root.st_gid == user.gid || std::ranges::find(user.groups, root.st_gid) != user.groups.end();
  return (root.st_mode & (is_member ? S_IWGRP : S_IWOTH)) != 0;
}

Credentials current_user(const std::filesystem::path& etc) {
  Credentials user{
      .uid = 0, .gid = 0, .groups = {}, .name = std::to_string(::geteuid()), .home = "/", .shell = "/bin/sh"};
  find_user(etc, {}, ::geteuid(), user);
  // The process's actual ids count, not those in passwd.
  user.uid = ::geteuid();
  user.gid = ::getegid();
  user.groups.resize(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  user.groups.resize(
      static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(user.groups.size()), user.groups.data()), 0)));
  return user;
}

UserOfLastLook::UserOfLastLook(std::filesystem::path etc) : etc_{std::move(etc)}, passwd_{etc_ / "passwd"} {
  look();
}

void UserOfLastLook::look() {
  struct stat now{};
  if (::stat(passwd_.c_str(), &now) != 0) now = {};
  const bool same = now.st_dev == file_.st_dev && now.st_ino == file_.st_ino && now.st_size == file_.st_size &&
                    now.st_mtim.tv_sec == file_.st_mtim.tv_sec && now.st_mtim.tv_nsec == file_.st_mtim.tv_nsec &&
                    now.st_ctim.tv_sec == file_.st_ctim.tv_sec && now.st_ctim.tv_nsec == file_.st_ctim.tv_nsec;
  if (user_ && same) return;
  user_ = std::make_shared<const Credentials>(current_user(etc_));
  file_ = now;
}

std::shared_ptr<const Credentials> CurrentUser::get() {
  if (looks_ == 0 && std::chrono::steady_clock::now() - looked_at_ >= std::chrono::seconds{1}) {
    tasks_.spawn("passwd", look());
  }
  return user_.get();
}

Task<> CurrentUser::look() {
  const ScopeCounter looking{looks_};
  looked_at_ = std::chrono::steady_clock::now();
  auto look = [known = user_]() mutable {
    known.look();
    return known;
  };
  user_ = co_await threads_.run(std::move(look));
}

}  // namespace skiff::sessions
