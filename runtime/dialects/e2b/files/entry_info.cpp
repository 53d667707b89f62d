#include "runtime/dialects/e2b/files/entry_info.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <utility>

#include "base/clock.hpp"
#include "fs/content/read.hpp"
#include "protocol/json/text.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::string_view kHeader = "x-metadata-";
constexpr std::size_t kMostName = 246;
constexpr std::size_t kMostMetadata = 4096;

std::string_view type_word(fs::EntryType type) {
  switch (type) {
    case fs::EntryType::file:
      return "FILE_TYPE_FILE";
    case fs::EntryType::directory:
      return "FILE_TYPE_DIRECTORY";
    case fs::EntryType::link:
      return "FILE_TYPE_SYMLINK";
    default:
      return "FILE_TYPE_UNSPECIFIED";
  }
}

/// The path of an open object by its descriptor.
std::string by_descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string path_of(int fd) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink(by_descriptor(fd).c_str(), path.data(), path.size());
  return size > 0 ? std::string{path.data(), static_cast<std::size_t>(size)} : std::string{};
}

std::string group_name(gid_t gid) {
  std::string number = std::to_string(gid);
  std::ifstream in{"/etc/group"};
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view rest = std::string_view{line}.substr(second + 1);
    if (rest.substr(0, rest.find(':')) == number) return line.substr(0, first);
  }
  return number;
}

Metadata metadata_of(int fd) {
  Metadata found;
  const std::string path = by_descriptor(fd);
  std::array<char, 2 * kMostMetadata> names{};
  const ssize_t size = ::listxattr(path.c_str(), names.data(), names.size());
  for (std::string_view rest{names.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}; !rest.empty();) {
    const std::string name{rest.substr(0, rest.find('\0'))};
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!name.starts_with(kMetadataAttribute)) continue;
    std::array<char, kMostMetadata> value{};
    const ssize_t length = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (length >= 0) {
      found.emplace(name.substr(kMetadataAttribute.size()),
                    std::string{value.data(), static_cast<std::size_t>(length)});
    }
  }
  return found;
}

}  // namespace

std::string mode_text(fs::EntryType type, mode_t mode) {
  std::string text;
  if (type == fs::EntryType::directory) text += 'd';
  if (type == fs::EntryType::link) text += 'L';
  if (type == fs::EntryType::character_device || type == fs::EntryType::block_device) text += 'D';
  if (type == fs::EntryType::fifo) text += 'p';
  if (type == fs::EntryType::socket) text += 'S';
  if ((mode & S_ISUID) != 0) text += 'u';
  if ((mode & S_ISGID) != 0) text += 'g';
  if (type == fs::EntryType::character_device) text += 'c';
  if ((mode & S_ISVTX) != 0) text += 't';
  if (text.empty()) text = "-";
  constexpr std::string_view kBits = "rwxrwxrwx";
  for (std::size_t i = 0; i < kBits.size(); ++i) text += (mode & (0400U >> i)) != 0 ? kBits[i] : '-';
  return text;
}

const std::string& Names::user(uid_t uid) {
  const auto [found, is_new] = users_.try_emplace(uid);
  if (is_new) {
    const auto user = sessions::look_up_user(std::to_string(uid));
    found->second = user ? user->name : std::to_string(uid);
  }
  return found->second;
}

const std::string& Names::group(gid_t gid) {
  const auto [found, is_new] = groups_.try_emplace(gid);
  if (is_new) found->second = group_name(gid);
  return found->second;
}

Result<std::string> entry_info(const fs::Tree& tree, const std::string& path, Names& names) {
  SKIFF_TRY(auto seen, fs::look_at(tree, path));
  std::string target;
  if (seen.entry.type == fs::EntryType::link) {
    target = seen.entry.target;
    if (auto behind = fs::look_at(tree, path, fs::Links::follow)) {
      seen = std::move(*behind);
      target = path_of(seen.object.get());
    }
  }
  const fs::Entry& entry = seen.entry;
  std::string text{'{'};
  protocol::append_json_text(text, "name", path == "/" ? path : path.substr(path.rfind('/') + 1));
  protocol::append_json_text(text, "type", type_word(entry.type));
  protocol::append_json_text(text, "path", path);
  // 64-bit numbers are strings in protobuf's JSON.
  protocol::append_json_text(text, "size", std::to_string(entry.size));
  protocol::append_json_number(text, "mode", entry.mode & 0777U);
  protocol::append_json_text(text, "permissions", mode_text(entry.type, entry.mode));
  protocol::append_json_text(text, "owner", names.user(entry.uid));
  protocol::append_json_text(text, "group", names.group(entry.gid));
  protocol::append_json_text(text, "modifiedTime",
                             rfc3339(std::chrono::floor<std::chrono::microseconds>(entry.modified)));
  if (!target.empty()) protocol::append_json_text(text, "symlinkTarget", target);
  if (const Metadata metadata = metadata_of(seen.object.get()); !metadata.empty()) {
    protocol::append_json_key(text, "metadata");
    append_metadata(text, metadata);
  }
  return text + '}';
}

Result<Metadata> asked_metadata(const protocol::Headers& headers) {
  Metadata metadata;
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) {
    if (name.size() <= kHeader.size() || !protocol::same_text(name.substr(0, kHeader.size()), kHeader)) continue;
    std::string key{name.substr(kHeader.size())};
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    bytes += key.size() + value.size();
    if (key.size() > kMostName || bytes > kMostMetadata) {
      return fail(Errc::invalid_field, "X-Metadata-: names have at most 246 bytes, all of them 4096", "X-Metadata");
    }
    metadata.insert_or_assign(std::move(key), std::string{value});
  }
  return metadata;
}

Result<> set_metadata(int fd, const Metadata& metadata) {
  for (const auto& [name, value] : metadata) {
    const std::string attribute = std::string{kMetadataAttribute} + name;
    if (::fsetxattr(fd, attribute.c_str(), value.data(), value.size(), 0) == 0) continue;
    if (errno == EOPNOTSUPP) return fail(Errc::not_supported, "this file system keeps no metadata");
    return std::unexpected{system_error(errno, "keep metadata")};
  }
  return {};
}

void append_metadata(std::string& out, const Metadata& metadata) {
  out += '{';
  for (const auto& [name, value] : metadata) protocol::append_json_text(out, name, value);
  out += '}';
}

}  // namespace skiff::runtime::dialects::e2b
