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

#include "base/bytes/sha.hpp"
#include "base/error.hpp"

namespace skiff::fs {

/// A file's time, with the kernel's full precision; clamped to the years 1678 to 2262.
using FileTime = std::chrono::sys_time<std::chrono::nanoseconds>;

enum class EntryType : unsigned char { file, directory, link, fifo, socket, character_device, block_device };
/// Returns the word of the API: "file", "directory", "symlink", "fifo", "socket", "character_device", "block_device".
[[nodiscard]] std::string_view name(EntryType type) noexcept;

/// The metadata of a file, directory or link.
struct Entry {
  EntryType type = EntryType::file;
  std::uint64_t size = 0;
  mode_t mode = 0;  ///< permission, set-id and sticky bits only
  uid_t uid = 0;
  gid_t gid = 0;
  FileTime modified;
  FileTime changed;  ///< time of the inode's last change (ctime)
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint32_t links = 0;  ///< number of names of this inode
  std::string target;       ///< target of a link, not resolved
  FileTime seen;            ///< time of the stat call, or slightly before
};

/// Describes an open descriptor, O_PATH or not.
[[nodiscard]] Result<Entry> entry_of(int fd);
/// Describes a name in a directory; a link is not followed. Errors: path_not_found.
[[nodiscard]] Result<Entry> entry_at(int directory, const char* name);

/// Returns the wall clock in the form of file times.
[[nodiscard]] FileTime file_time_now();

// A strong entity tag, quotes included, is `"m-..."`, made of inode, size, mtime and ctime. Kernels stamp times by
// ticks of up to 10 ms, so a second change within a tick may leave all four unchanged. While that can still happen, the
// tag is `"h-<sha256 of the bytes>"` instead. It cannot happen to a file whose mtime differs from its ctime: a write
// sets both to the time of the tick. Writers here use that: they set an exact mtime, so their files have an "m-" tag at
// once. A file that a command has mapped may change without a change of either time; no tag shows that.

/// Returns the `"m-..."` tag.
[[nodiscard]] std::string time_tag(const Entry& entry);
inline constexpr std::size_t kMostTimeTag = 72;  ///< bytes: four numbers of at most 16 digits
/// Writes the same tag without an allocation, for lists with thousands of entries.
[[nodiscard]] std::string_view time_tag(const Entry& entry, std::span<char, kMostTimeTag> room) noexcept;
/// Whether every change after the stat call must change the time tag.
[[nodiscard]] bool time_tag_is_final(const Entry& entry);

/// The largest file, in bytes, that is hashed for a tag without a request for it.
inline constexpr std::uint64_t kMostHashedForTag = 64ULL << 20U;

/// Returns the entry's tag; `fd` is the entry's own descriptor, also O_PATH. Returns nothing for a fresh file that is
/// larger than `most_hashed` bytes, cannot be read or is changing, and when `stop` is requested while the file is
/// hashed.
[[nodiscard]] std::optional<std::string> entity_tag(int fd, const Entry& entry,
                                                    std::uint64_t most_hashed = kMostHashedForTag,
                                                    const std::stop_token& stop = {});

/// Returns the SHA-256 of a regular file that had `size` bytes, from its start, whatever the descriptor's position.
/// Returns nothing if the file has more bytes by now: a writer could make it endless, so hashing stops after `size`
/// bytes. Errors: also cancelled when `stop` is requested.
[[nodiscard]] Result<std::optional<Sha256::Digest>> hash_file(int fd, std::uint64_t size,
                                                              const std::stop_token& stop = {});

/// The value of If-Match or If-None-Match (RFC 9110, 13.1): `*` or a list of tags.
class TagList {
 public:
  /// Errors: invalid_field.
  [[nodiscard]] static Result<TagList> parse(std::string_view text);

  [[nodiscard]] bool any() const noexcept { return any_; }

  /// Strong comparison, for If-Match. An "h-" tag is compared with the hash of the file, an "m-" tag with its times,
  /// whatever form the server would send now. No file above `kMostHashedForTag` matches an "h-" tag. `fd` may be
  /// O_PATH. Errors: those of `hash_file`.
  [[nodiscard]] Result<bool> match(int fd, const Entry& entry, const std::stop_token& stop = {}) const;
  /// Weak comparison, for If-None-Match: ignores `W/`.
  [[nodiscard]] Result<bool> match_weakly(int fd, const Entry& entry, const std::stop_token& stop = {}) const;

 private:
  struct Tag {
    std::string text;  // including the quotes
    bool weak = false;
  };
  [[nodiscard]] Result<bool> compare(int fd, const Entry& entry, bool weakly, const std::stop_token& stop) const;

  std::vector<Tag> tags_;
  bool any_ = false;
};

}  // namespace skiff::fs
