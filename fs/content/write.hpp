#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/bytes/sha.hpp"
#include "base/error.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/content/target.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

enum class Durability : unsigned char { cached, synced };  ///< synced: on the disk before the response (fsync(2))

struct WriteOptions {
  Conditions conditions = {};
  Attributes attributes = {};
  Parents parents = Parents::make;
  Durability durability = Durability::cached;
  std::optional<Sha256::Digest> sha256 = {};  ///< what the bytes must hash to
  Naming naming = Naming::nameless;           ///< until it is complete
};

/// Parses 64 hex digits. Errors: invalid_field.
[[nodiscard]] Result<Sha256::Digest> parse_sha256(std::string_view hex);

/// Writes a whole file: readers see either the old content or all of the new. The bytes go to a staged file in the
/// same directory; `commit()` puts it in place. A writer that is dropped before leaves only the old content. A link at
/// the end of the path is followed: its target is replaced or created. Other names of a replaced file (hard links) keep
/// the old content. A file that is a mount of its own cannot be replaced and is written in place
/// (fs/content/in_place.hpp). One thread at a time.
class Writer {
 public:
  /// Checks as much as possible before the bytes come. Errors: those of Tree::locate; precondition_failed,
  /// is_a_directory, not_a_regular_file, no_space; cancelled, as for `check_target`.
  [[nodiscard]] static Result<Writer> begin(const Tree& tree, std::string_view path, WriteOptions options = {},
                                            const std::stop_token& stop = {});

  /// Errors: no_space, io_error; the writer is unusable afterwards.
  [[nodiscard]] Result<> write(std::span<const char> bytes);

  /// For bytes that are spliced in: they go to the descriptor's own position. `write` may be mixed with it.
  [[nodiscard]] int fd() const noexcept { return staged_.fd(); }

  /// Checks the checksum, checks the conditions again with the name locked, and puts the file in place. Call it once.
  /// Errors: also checksum_mismatch, and cancelled when `stop` is requested while a file is hashed; the old content
  /// then stays. `Durability::synced` cannot be stopped: fsync(2) returns when the disk has the bytes, however long
  /// that takes.
  [[nodiscard]] Result<Written> commit(const std::stop_token& stop = {});

  /// As `commit`, for a caller that holds the NameLock of `location()`.
  [[nodiscard]] Result<Written> commit_locked(const std::stop_token& stop = {});
  [[nodiscard]] const Location& location() const noexcept { return location_; }

 private:
  Writer(std::string path, WriteOptions options, Location location, StagedFile staged);
  [[nodiscard]] Result<> check_sum(const std::stop_token& stop) const;
  [[nodiscard]] Result<> sync_bytes() const;
  [[nodiscard]] Result<Written> put_in_place(const std::stop_token& stop);
  [[nodiscard]] Result<Written> put_into_mount(const std::optional<Entry>& target);

  std::string path_;
  WriteOptions options_;
  Location location_;
  StagedFile staged_;  // declared after location_, whose descriptor it uses
  Sha256 sha_;
  std::uint64_t hashed_ = 0;
  bool elsewhere_ = false;  // staged in another directory, for a mount
};

/// Writes a small file at once; sets `options.naming` itself.
[[nodiscard]] Result<Written> write_file(const Tree& tree, std::string_view path, std::string_view bytes,
                                         WriteOptions options = {}, const std::stop_token& stop = {});

/// Writes all bytes. Returns 0 or an errno.
[[nodiscard]] int write_all(int fd, std::span<const char> bytes);

/// Syncs a directory (fsync(2)) by an O_PATH descriptor, so that its names are on the disk.
[[nodiscard]] Result<> sync_directory(int directory);

}  // namespace skiff::fs
