#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/sha.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/content/target.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

enum class Durability : unsigned char { cached, synced };  ///< synced: on the disk before the answer (fsync(2))

struct WriteOptions {
  Conditions conditions = {};
  Attributes attributes = {};
  Parents parents = Parents::make;
  Durability durability = Durability::cached;
  std::optional<Sha256::Digest> sha256 = {};  ///< what the bytes must hash to
  Naming naming = Naming::nameless;           ///< until it is complete
  /// Where a link has led, which may be of the user's who gets the file, nothing is written but what that user may
  /// write. The path is absolute, without links of the root's and without "..".
  bool distrusts_links = false;
};

/// 64 hex digits. Errors: invalid_field.
[[nodiscard]] Result<Sha256::Digest> parse_sha256(std::string_view hex);

/// Writes a file whole: readers see the old content, or all of the new. The bytes go to a file that has no name, in the
/// same directory; `commit()` puts it in place. A writer that is dropped before leaves the old content and nothing
/// else. A link at the end of the path is followed: the file it leads to is replaced, or made. Other names of a
/// replaced file (hard links) keep the old content. A file that is a mount of its own can't be replaced: it is written
/// in place (fs/content/in_place.hpp). One thread at a time.
class Writer {
 public:
  /// Checks what can be checked before the bytes come. Errors: those of Tree::locate; precondition_failed,
  /// is_a_directory, not_a_regular_file, no_space; cancelled, as of `check_target`.
  [[nodiscard]] static Result<Writer> begin(const Tree& tree, std::string_view path, WriteOptions options = {},
                                            const std::stop_token& stop = {});

  /// Errors: no_space, io_error; the writer is of no use then.
  [[nodiscard]] Result<> write(std::span<const char> bytes);

  /// For bulk bytes that are spliced in: they go to the descriptor's own position. May be mixed with `write`.
  [[nodiscard]] int fd() const noexcept { return staged_.fd(); }

  /// Checks sum and conditions, the latter again and with the name locked, and puts the file in place. Once. Errors:
  /// also checksum_mismatch, and cancelled when `stop` is requested while something is hashed: nothing was changed
  /// then. `Durability::synced` can't be stopped: fsync(2) returns when the disk has the bytes, however long that
  /// takes.
  [[nodiscard]] Result<Written> commit(const std::stop_token& stop = {});

  /// The same for who holds the NameLock of `place()` already.
  [[nodiscard]] Result<Written> commit_locked(const std::stop_token& stop = {});
  [[nodiscard]] const Place& place() const noexcept { return place_; }

 private:
  Writer(std::string path, WriteOptions options, Place place, StagedFile staged);
  [[nodiscard]] Result<> check_sum(const std::stop_token& stop) const;
  [[nodiscard]] Result<> sync_bytes() const;
  [[nodiscard]] Result<Written> put_in_place(const std::stop_token& stop);
  [[nodiscard]] Result<Written> put_into_mount(const std::optional<Entry>& target);

  std::string path_;
  WriteOptions options_;
  Place place_;
  StagedFile staged_;  // after place_, whose descriptor it uses
  Sha256 sha_;
  std::uint64_t hashed_ = 0;
  bool elsewhere_ = false;  // staged in another directory, for a mount
};

/// All of a small file at once; `options.naming` is chosen here.
[[nodiscard]] Result<Written> write_file(const Tree& tree, std::string_view path, std::string_view bytes,
                                         WriteOptions options = {}, const std::stop_token& stop = {});

/// Writes until all is written. Gives an errno, 0 when done.
[[nodiscard]] int write_all(int fd, std::span<const char> bytes);

/// fsync(2) of a directory, by an O_PATH descriptor: its names are on the disk then.
[[nodiscard]] Result<> sync_directory(int directory);

}  // namespace skiff::fs
