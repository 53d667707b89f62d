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

/// Changes to names and modes. Each takes its names' locks, so that conditions are exact between API writers. A link at
/// the end of a path is what is changed, not what it leads to, but for set_mode. Errors of all: those of Tree::locate.

/// With `Parents::make` as `mkdir -p`: content with a directory that exists. Errors: already_exists.
[[nodiscard]] Result<Written> make_directory(const Tree& tree, std::string_view path,
                                             Parents parents = Parents::require);

/// Any target is taken: it is judged when the link is followed. Errors: already_exists, invalid_field (an empty
/// target).
[[nodiscard]] Result<Written> make_link(const Tree& tree, std::string_view path, std::string_view target,
                                        Parents parents = Parents::require);

/// Of what a link leads to. Errors: precondition_failed, path_not_found.
[[nodiscard]] Result<Written> set_mode(const Tree& tree, std::string_view path, mode_t mode,
                                       const Conditions& conditions = {}, const std::stop_token& stop = {});

enum class Contents : unsigned char { refuse, remove };
/// A directory with `Contents::refuse` must be empty. What is below a root that can only be read stays. Errors:
/// path_not_found, directory_not_empty, precondition_failed, cancelled when `stop` is requested: a part of what was in
/// the directory is gone then.
[[nodiscard]] Result<> remove(const Tree& tree, std::string_view path, Contents contents = Contents::refuse,
                              const Conditions& conditions = {}, const std::stop_token& stop = {});

struct Transfer {
  Existing existing = Existing::refuse;  ///< replace: a file, or an empty directory by a directory
  Parents parents = Parents::make;       ///< of the destination
  Conditions conditions = {};            ///< of the source
  std::stop_token stop = {};             ///< ends a copy, of which nothing is left then, with `cancelled`
};
/// In one step for anyone who looks; to another file system by a copy that is complete before it shows, and then the
/// removal of the original. Errors: path_not_found, already_exists, is_a_directory, not_a_directory,
/// directory_not_empty, precondition_failed, invalid_field (a directory into itself), and those of `copy`.
[[nodiscard]] Result<Written> move(const Tree& tree, std::string_view from, std::string_view to,
                                   const Transfer& options = {});

/// A file, a link, or a directory with all that is in it; complete before it shows. Errors: as of `move`, and
/// not_a_regular_file, also for a FIFO, socket or device somewhere below.
[[nodiscard]] Result<Written> copy(const Tree& tree, std::string_view from, std::string_view to,
                                   const Transfer& options = {});

}  // namespace skiff::fs
