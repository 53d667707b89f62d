#pragma once

#include <sys/types.h>

#include <optional>
#include <stop_token>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/content/target.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// Changes names and modes. Each function locks its names, so conditions are exact between API writers. All but
/// set_mode change a link at the end of a path itself, not its target. Errors of all: those of Tree::locate.

/// With `Parents::make` an existing directory is not an error, as for `mkdir -p`. Errors: already_exists.
[[nodiscard]] Result<Written> create_directory(const Tree& tree, std::string_view path,
                                               Parents parents = Parents::require);

/// Accepts any target: it is checked only when the link is followed. Errors: already_exists, invalid_field (an empty
/// target).
[[nodiscard]] Result<Written> create_link(const Tree& tree, std::string_view path, std::string_view target,
                                          Parents parents = Parents::require);

/// Changes the target of a link. Errors: precondition_failed, path_not_found.
[[nodiscard]] Result<Written> set_mode(const Tree& tree, std::string_view path, mode_t mode,
                                       const Conditions& conditions = {}, const std::stop_token& stop = {});

enum class Contents : unsigned char { refuse, remove };
/// With `Contents::refuse` a directory must be empty. Files below a read-only root stay. Errors: path_not_found,
/// directory_not_empty, precondition_failed; cancelled when `stop` is requested: a part of the directory's contents is
/// gone then.
[[nodiscard]] Result<> remove(const Tree& tree, std::string_view path, Contents contents = Contents::refuse,
                              const Conditions& conditions = {}, const std::stop_token& stop = {});

struct Transfer {
  Existing existing = Existing::refuse;  ///< replace: replaces a file, or an empty directory by a directory
  Parents parents = Parents::make;       ///< missing directories of the destination
  Conditions conditions = {};            ///< conditions for the source
  std::stop_token stop = {};             ///< ends a copy with `cancelled`; nothing of the copy is left
};
/// Moves in one atomic step. To another file system, it makes a copy that appears when it is complete, and then removes
/// the original. Errors: path_not_found, already_exists, is_a_directory, not_a_directory, directory_not_empty,
/// precondition_failed, invalid_field (a directory into itself), and those of `copy`.
[[nodiscard]] Result<Written> move(const Tree& tree, std::string_view from, std::string_view to,
                                   const Transfer& options = {});

/// Copies a file, a link, or a directory with its contents; the copy appears when it is complete. Errors: those of
/// `move`, and not_a_regular_file, also for a FIFO, socket or device somewhere below.
[[nodiscard]] Result<Written> copy(const Tree& tree, std::string_view from, std::string_view to,
                                   const Transfer& options = {});

}  // namespace skiff::fs
