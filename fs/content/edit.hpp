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
  std::uint64_t count = 1;  ///< how often `old` must occur; 0: at least once
};

/// A file of more bytes, before or after, is not edited.
inline constexpr std::uint64_t kMostEditedBytes = 64ULL << 20U;

struct EditOptions {
  Conditions conditions = {};
  Durability durability = Durability::cached;
  std::string name = {};  ///< in the diff's head; empty: the path
};

struct Edited {
  Written written;
  std::string diff;       ///< unified, three lines of context; empty when nothing has changed
  bool diff_cut = false;  ///< it was longer than a MiB: whole hunks at its end are left out
};

/// Replaces pieces of a text file, all of them or none: each edit finds its occurrences, which don't overlap, in what
/// the edits before it have made. The file's name is locked meanwhile, so no other API writer's change is lost. Bytes
/// are bytes: any encoding, any line ends. Errors: those of Writer; path_not_found, edit_not_found (its field is
/// "/edits/N/old"), payload_too_large.
[[nodiscard]] Result<Edited> edit(const Tree& tree, std::string_view path, std::span<const Edit> edits,
                                  const EditOptions& options = {}, const std::stop_token& stop = {});

/// The whole file at a place, for who edits it; its name is locked. Errors: path_not_found, not_a_regular_file,
/// is_a_directory, payload_too_large.
[[nodiscard]] Result<std::string> read_text(const Place& place, std::string_view path);

}  // namespace skiff::fs
