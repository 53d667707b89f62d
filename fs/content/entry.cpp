#include "fs/content/entry.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes/text.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"
#include "fs/path/stop.hpp"

namespace skiff::fs {
namespace {

constexpr std::chrono::milliseconds kTick{20};  // twice the tick of the coarsest kernel
constexpr std::size_t kHashBlock = 256 * 1024;
constexpr int kMostHashTries = 3;
constexpr int kMostLooks = 16;  // tries for a name whose file changes its kind meanwhile

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

/// Calls statx(2). Both statx(2) and readlinkat(2) take an empty name for the descriptor itself. Errors are in errno.
std::optional<Entry> glance(int directory, const char* name, int flags) {
  const FileTime seen = file_time_now();
  struct statx status{};
  if (::statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags, STATX_BASIC_STATS, &status) != 0)
    return {};
  return Entry{.type = type_of(status.stx_mode),
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
}

Result<Entry> look(int directory, const char* name, int flags) {
  for (int looks = 1;; ++looks) {
    auto entry = glance(directory, name, flags);
    if (!entry) return std::unexpected{system_error(errno, "stat " + in_quotes(name))};
    if (entry->type != EntryType::link) return std::move(*entry);
    std::array<char, kMostPathBytes + 1> buffer;
    const ssize_t size = ::readlinkat(directory, name, buffer.data(), buffer.size());
    if (size >= 0) {
      entry->target.assign(buffer.data(), static_cast<std::size_t>(size));
      return std::move(*entry);
    }
    // EINVAL: a file of another kind has the name now.
    if (errno != EINVAL || looks == kMostLooks) {
      return std::unexpected{system_error(errno, "read the link " + in_quotes(name))};
    }
  }
}

std::string hash_tag(const Sha256::Digest& digest) {
  return "\"h-" + to_hex(digest) + '"';
}

Result<std::optional<Sha256::Digest>> hash_object(int fd, std::uint64_t size, const std::stop_token& stop) {
  const UniqueFd file = reopen(fd, O_RDONLY);
  if (!file) return std::unexpected{system_error(errno, "open a file to hash it")};
  return hash_file(file.get(), size, stop);
}

/// Returns eight hexadecimal digits, the first one in the lowest byte: each step moves half of the digits away from the
/// rest.
constexpr std::uint64_t hex_digits(std::uint32_t value) noexcept {
  std::uint64_t digits = std::byteswap(value);
  digits = (digits | digits << 16U) & 0x0000'ffff'0000'ffff;
  digits = (digits | digits << 8U) & 0x00ff'00ff'00ff'00ff;
  digits = (digits >> 4U | digits << 8U) & 0x0f0f'0f0f'0f0f'0f0f;
  const std::uint64_t are_letters = (digits + 0x0606'0606'0606'0606) >> 4U & 0x0101'0101'0101'0101;
  return digits + 0x3030'3030'3030'3030 + are_letters * ('a' - '0' - 10);
}

/// Writes the same text as std::to_chars, eight digits at a time. `to` has room for 16 digits; those after the result
/// are garbage. Returns the end of the result.
char* put_hex(std::uint64_t value, char* to) noexcept {
  const auto count = std::max(1U, (static_cast<unsigned>(std::bit_width(value)) + 3) / 4);
  value <<= 64 - 4 * count;
  const std::array digits{hex_digits(static_cast<std::uint32_t>(value >> 32U)),
                          hex_digits(static_cast<std::uint32_t>(value))};
  std::memcpy(to, digits.data(), sizeof digits);
  return to + count;
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

Result<Entry> entry_at(int directory, const char* name) {
  return look(directory, name, 0);
}

FileTime file_time_now() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

std::string time_tag(const Entry& entry) {
  std::array<char, kMostTimeTag> room;
  return std::string{time_tag(entry, room)};
}

std::string_view time_tag(const Entry& entry, std::span<char, kMostTimeTag> room) noexcept {
  char* at = std::ranges::copy(std::string_view{"\"m-"}, room.data()).out;
  for (const std::uint64_t part :
       {entry.inode, entry.size, static_cast<std::uint64_t>(entry.modified.time_since_epoch().count()),
        static_cast<std::uint64_t>(entry.changed.time_since_epoch().count())}) {
    at = put_hex(part, at);
    *at++ = '-';
  }
  at[-1] = '"';
  return {room.data(), at};
}

bool time_tag_is_final(const Entry& entry) {
  return entry.type != EntryType::file || entry.modified != entry.changed || entry.seen - entry.changed >= kTick;
}

std::optional<std::string> entity_tag(int fd, const Entry& entry, std::uint64_t most_hashed,
                                      const std::stop_token& stop) {
  Entry seen = entry;
  for (int i = 0; i < kMostHashTries; ++i) {
    if (time_tag_is_final(seen)) return time_tag(seen);
    if (seen.size > most_hashed) return std::nullopt;
    auto digest = hash_object(fd, seen.size, stop);
    if (!digest) return std::nullopt;
    auto after = entry_of(fd);
    if (!after) return std::nullopt;
    if (*digest && time_tag(*after) == time_tag(seen)) return hash_tag(**digest);
    seen = std::move(*after);
  }
  return std::nullopt;
}

Result<std::optional<Sha256::Digest>> hash_file(int fd, std::uint64_t size, const std::stop_token& stop) {
  Sha256 sha;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kHashBlock);
  for (std::uint64_t offset = 0;;) {
    if (stop.stop_requested()) return stopped_error();
    // One more byte shows whether the file has grown.
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
  text = trimmed(text);
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
    text = trimmed(text.substr(end + 1));
    if (text.empty()) return list;
    if (!text.starts_with(',')) return broken();
    text = trimmed(text.substr(1));
  }
  return broken();
}

Result<bool> TagList::match(int fd, const Entry& entry, const std::stop_token& stop) const {
  return compare(fd, entry, false, stop);
}

Result<bool> TagList::match_weakly(int fd, const Entry& entry, const std::stop_token& stop) const {
  return compare(fd, entry, true, stop);
}

Result<bool> TagList::compare(int fd, const Entry& entry, bool weakly, const std::stop_token& stop) const {
  if (any_) return true;
  std::optional<std::string> by_content;
  for (const Tag& tag : tags_) {
    if (tag.weak && !weakly) continue;
    if (tag.text.starts_with("\"m-")) {
      if (tag.text == time_tag(entry)) return true;
    } else if (tag.text.starts_with("\"h-") && entry.type == EntryType::file && entry.size <= kMostHashedForTag) {
      if (!by_content) {
        SKIFF_TRY(auto digest, hash_object(fd, entry.size, stop));
        by_content = digest ? hash_tag(*digest) : std::string{};
      }
      if (tag.text == *by_content) return true;
    }
  }
  return false;
}

}  // namespace skiff::fs
