#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/sha.hpp"

namespace skiff::fs {

/// A file's time, as exact as the kernel keeps it; clamped to the years 1678 to 2262.
using FileTime = std::chrono::sys_time<std::chrono::nanoseconds>;

enum class EntryType : unsigned char { file, directory, link, fifo, socket, character_device, block_device };
/// "file", "directory", "symlink", "fifo", "socket", "character_device", "block_device": the words of the wire.
[[nodiscard]] std::string_view name(EntryType type) noexcept;

/// What is known of a file, directory or link without reading it.
struct Entry {
  EntryType type = EntryType::file;
  std::uint64_t size = 0;
  mode_t mode = 0;  ///< permission, set-id and sticky bits only
  uid_t uid = 0;
  gid_t gid = 0;
  FileTime modified;
  FileTime changed;  ///< when the inode changed last (ctime)
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint32_t links = 0;  ///< names of this inode
  std::string target;       ///< of a link; as it is, not resolved
  FileTime seen;            ///< when it was looked at, or a little before
};

/// Of an open descriptor, O_PATH or not.
[[nodiscard]] Result<Entry> entry_of(int fd);
/// Of a name in a directory; a link is not followed. Errors: path_not_found.
[[nodiscard]] Result<Entry> entry_at(int directory, const char* name);

/// The wall clock as file times are compared with it.
[[nodiscard]] FileTime file_time_now();

// A strong entity tag, quotes included, is `"m-..."`, made of inode, size, mtime and ctime. Kernels stamp times by
// ticks of up to 10 ms, so a second change within a tick may leave all of them as they are; while that can still happen
// the tag is
// `"h-<sha256 of the bytes>"` instead. It can't happen to a file whose mtime is not its ctime: a write sets both to the
// tick's time. Writers here use that: they set an exact mtime, so that what they wrote has an "m-" tag at once. A file
// that a command holds mapped may change without either time changing: no tag can tell.

/// The `"m-..."` tag.
[[nodiscard]] std::string time_tag(const Entry& entry);
inline constexpr std::size_t kMostTimeTag = 72;  ///< bytes: four numbers of at most 16 digits
/// The same where there is room for it: lists have thousands.
[[nodiscard]] std::string_view time_tag(const Entry& entry, std::span<char, kMostTimeTag> room) noexcept;
/// Whether a change after the look can't have left the time tag as it is.
[[nodiscard]] bool time_tag_is_final(const Entry& entry);

/// The largest file, in bytes, that is hashed for a tag without a request for it.
inline constexpr std::uint64_t kMostHashedForTag = 64ULL << 20U;

/// The entry's tag; `fd` is the entry's own descriptor, also O_PATH. None for a fresh file that is larger than
/// `most_hashed` bytes, can't be read or is changing just now, and when `stop` is requested while it is hashed.
[[nodiscard]] std::optional<std::string> entity_tag(int fd, const Entry& entry,
                                                    std::uint64_t most_hashed = kMostHashedForTag,
                                                    const std::stop_token& stop = {});

/// The SHA-256 of a whole regular file that was seen to have `size` bytes, whatever the descriptor's position. None if
/// it has more by now: who writes it can make it endless, so no more than `size` bytes are hashed. Errors: also
/// cancelled when `stop` is requested.
[[nodiscard]] Result<std::optional<Sha256::Digest>> hash_file(int fd, std::uint64_t size,
                                                              const std::stop_token& stop = {});

/// The value of If-Match or If-None-Match (RFC 9110, 13.1): `*` or a list of tags.
class TagList {
 public:
  /// Errors: invalid_field.
  [[nodiscard]] static Result<TagList> parse(std::string_view text);

  [[nodiscard]] bool any() const noexcept { return any_; }

  /// Strong comparison, for If-Match: an "h-" tag is judged by hashing the file, an "m-" tag by its times, each
  /// whatever form the server would give now. No file above `kMostHashedForTag` has an "h-" tag. `fd` may be O_PATH.
  /// Errors: those of `hash_file`.
  [[nodiscard]] Result<bool> match(int fd, const Entry& entry, const std::stop_token& stop = {}) const;
  /// Weak comparison, for If-None-Match: `W/` does not matter.
  [[nodiscard]] Result<bool> match_weakly(int fd, const Entry& entry, const std::stop_token& stop = {}) const;

 private:
  struct Tag {
    std::string text;  // with its quotes
    bool weak = false;
  };
  [[nodiscard]] Result<bool> compare(int fd, const Entry& entry, bool weakly, const std::stop_token& stop) const;

  std::vector<Tag> tags_;
  bool any_ = false;
};

}  // namespace skiff::fs
