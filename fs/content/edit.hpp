#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/target.hpp"
#include "fs/content/write.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

struct Edit {
  std::string old;  ///< not empty
  std::string replacement;
  std::uint64_t count = 1;  ///< number of times that `old` must occur; 0: at least once
};

/// The largest file that can be edited, before and after, in bytes.
inline constexpr std::uint64_t kMostEditedBytes = 64ULL << 20U;

struct EditOptions {
  Conditions conditions = {};
  Durability durability = Durability::cached;
  std::string name = {};  ///< name in the diff's head; empty: the path
};

struct Edited {
  Written written;
  std::string diff;       ///< unified, three lines of context; empty when nothing has changed
  bool diff_cut = false;  ///< the diff was longer than 1 MiB: whole hunks at its end are left out
};

/// Replaces pieces of a text file, all or none. Each edit finds its non-overlapping occurrences in the result of the
/// edits before it. The file's name is locked meanwhile, so no change by another API writer is lost. Any encoding and
/// any line ends work: bytes are compared. Errors: those of Writer; path_not_found, edit_not_found (its field is
/// "/edits/N/old"), payload_too_large.
[[nodiscard]] Result<Edited> edit(const Tree& tree, std::string_view path, std::span<const Edit> edits,
                                  const EditOptions& options = {}, const std::stop_token& stop = {});

/// Reads the whole file at a location, for an edit; the caller holds the lock of its name. Errors: path_not_found,
/// not_a_regular_file, is_a_directory, payload_too_large.
[[nodiscard]] Result<std::string> read_text(const Location& location, std::string_view path);

}  // namespace skiff::fs
