#include "fs/content/entry.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

constexpr std::chrono::milliseconds kTick{20};  // twice the coarsest kernel's
constexpr std::size_t kHashBlock = 256 * 1024;
constexpr int kMostHashTries = 3;

FileTime time_of(const struct statx_timestamp& stamp) {
  constexpr std::int64_t kMostSeconds = 9'223'372'035;  // so that no sum overflows
  const std::int64_t seconds = std::clamp<std::int64_t>(stamp.tv_sec, -kMostSeconds, kMostSeconds);
  return FileTime{std::chrono::seconds{seconds} + std::chrono::nanoseconds{stamp.tv_nsec}};
}

EntryType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return EntryType::directory;
    case S_IFLNK:
      return EntryType::link;
    case S_IFIFO:
      return EntryType::fifo;
    case S_IFSOCK:
      return EntryType::socket;
    case S_IFCHR:
      return EntryType::character_device;
    case S_IFBLK:
      return EntryType::block_device;
    default:
      return EntryType::file;
  }
}

/// statx(2) and, of a link, readlinkat(2): both take an empty name for the descriptor itself.
Result<Entry> look(int directory, const char* name, int flags) {
  const FileTime seen = file_time_now();
  struct statx status{};
  if (::statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags, STATX_BASIC_STATS, &status) != 0) {
    return std::unexpected{system_error(errno, "stat " + quoted(name))};
  }
  Entry entry{.type = type_of(status.stx_mode),
              .size = status.stx_size,
              .mode = status.stx_mode & 07777U,
              .uid = status.stx_uid,
              .gid = status.stx_gid,
              .modified = time_of(status.stx_mtime),
              .changed = time_of(status.stx_ctime),
              .inode = status.stx_ino,
              .device = makedev(status.stx_dev_major, status.stx_dev_minor),
              .links = status.stx_nlink,
              .target = {},
              .seen = seen};
  if (entry.type == EntryType::link) {
    std::array<char, kMostPathBytes + 1> buffer;
    const ssize_t size = ::readlinkat(directory, name, buffer.data(), buffer.size());
    if (size < 0) return std::unexpected{system_error(errno, "read the link " + quoted(name))};
    entry.target.assign(buffer.data(), static_cast<std::size_t>(size));
  }
  return entry;
}

std::string hash_tag(const Sha256::Digest& digest) {
  return "\"h-" + to_hex(digest) + '"';
}

Result<std::optional<Sha256::Digest>> hash_object(int fd, std::uint64_t size) {
  const UniqueFd file = reopen(fd, O_RDONLY);
  if (!file) return std::unexpected{system_error(errno, "open a file to hash it")};
  return hash_file(file.get(), size);
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::string_view name(EntryType type) noexcept {
  switch (type) {
    case EntryType::file:
      return "file";
    case EntryType::directory:
      return "directory";
    case EntryType::link:
      return "symlink";
    case EntryType::fifo:
      return "fifo";
    case EntryType::socket:
      return "socket";
    case EntryType::character_device:
      return "character_device";
    case EntryType::block_device:
      return "block_device";
  }
  return "file";
}

Result<Entry> entry_of(int fd) {
  return look(fd, "", AT_EMPTY_PATH);
}

Result<Entry> entry_at(int directory, const std::string& name) {
  return look(directory, name.c_str(), 0);
}

FileTime file_time_now() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

std::string time_tag(const Entry& entry) {
  constexpr std::string_view kBegin{"\"m-"};
  std::array<char, 80> text;  // four numbers of at most 16 digits
  char* at = std::ranges::copy(kBegin, text.data()).out;
  char* const end = text.data() + text.size();
  for (const std::uint64_t part :
       {entry.inode, entry.size, static_cast<std::uint64_t>(entry.modified.time_since_epoch().count()),
        static_cast<std::uint64_t>(entry.changed.time_since_epoch().count())}) {
    at = std::to_chars(at, end, part, 16).ptr;
    *at++ = '-';
  }
  at[-1] = '"';
  return {text.data(), at};
}

bool time_tag_is_final(const Entry& entry) {
  return entry.type != EntryType::file || entry.modified != entry.changed || entry.seen - entry.changed >= kTick;
}

std::optional<std::string> entity_tag(int fd, const Entry& entry, std::uint64_t most_hashed) {
  Entry seen = entry;
  for (int i = 0; i < kMostHashTries; ++i) {
    if (time_tag_is_final(seen)) return time_tag(seen);
    if (seen.size > most_hashed) return std::nullopt;
    auto digest = hash_object(fd, seen.size);
    if (!digest) return std::nullopt;
    auto after = entry_of(fd);
    if (!after) return std::nullopt;
    if (*digest && time_tag(*after) == time_tag(seen)) return hash_tag(**digest);
    seen = std::move(*after);
  }
  return std::nullopt;
}

Result<std::optional<Sha256::Digest>> hash_file(int fd, std::uint64_t size) {
  Sha256 sha;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kHashBlock);
  for (std::uint64_t offset = 0;;) {
    // One byte more than there were shows that it has grown.
    const std::size_t block = std::min<std::uint64_t>(kHashBlock, size - offset + 1);
    const ssize_t got = ::pread(fd, buffer.get(), block, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read a file to hash it")};
    if (got == 0) return sha.digest();
    if (static_cast<std::uint64_t>(got) > size - offset) return std::nullopt;
    sha.add({buffer.get(), static_cast<std::size_t>(got)});
    offset += static_cast<std::uint64_t>(got);
  }
}

Result<TagList> TagList::parse(std::string_view text) {
  TagList list;
  text = trim(text);
  if (text == "*") {
    list.any_ = true;
    return list;
  }
  const auto broken = [] { return fail(Errc::invalid_field, "entity tags are `*`, or \"tag\" and \"tag\" by commas"); };
  while (!text.empty()) {
    Tag tag;
    tag.weak = text.starts_with("W/");
    if (tag.weak) text.remove_prefix(2);
    const std::size_t end = text.starts_with('"') ? text.find('"', 1) : std::string_view::npos;
    if (end == std::string_view::npos) return broken();
    tag.text = text.substr(0, end + 1);
    list.tags_.push_back(std::move(tag));
    text = trim(text.substr(end + 1));
    if (text.empty()) return list;
    if (!text.starts_with(',')) return broken();
    text = trim(text.substr(1));
  }
  return broken();
}

Result<bool> TagList::match(int fd, const Entry& entry) const {
  return compare(fd, entry, false);
}

Result<bool> TagList::match_weakly(int fd, const Entry& entry) const {
  return compare(fd, entry, true);
}

Result<bool> TagList::compare(int fd, const Entry& entry, bool weakly) const {
  if (any_) return true;
  std::optional<std::string> by_content;
  for (const Tag& tag : tags_) {
    if (tag.weak && !weakly) continue;
    if (tag.text.starts_with("\"m-")) {
      if (tag.text == time_tag(entry)) return true;
    } else if (tag.text.starts_with("\"h-") && entry.type == EntryType::file && entry.size <= kMostHashedForTag) {
      if (!by_content) {
        SKIFF_TRY(auto digest, hash_object(fd, entry.size));
        by_content = digest ? hash_tag(*digest) : std::string{};
      }
      if (tag.text == *by_content) return true;
    }
  }
  return false;
}

}  // namespace skiff::fs
