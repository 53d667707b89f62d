#pragma once

#include <stop_token>
#include <string>

#include "base/error.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// The attributes of the original that a copy keeps.
enum class Keep : unsigned char {
  mode,       ///< the mode as for `cp -r`, without set-id bits
  everything  ///< mode, times and, as far as the agent may, the owner: for a move to another file system
};

/// Copies all bytes of a file to an empty one: as shared extents where the file system can (FICLONE), else in the
/// kernel; holes stay holes. Errors: no_space, io_error, cancelled when `stop` is requested.
[[nodiscard]] Result<> copy_bytes(int from, int to, const std::stop_token& stop = {});

/// Copies an object (O_PATH suffices), whole trees too, to a new name; links are copied as links. A failed copy leaves
/// what it has created: the caller passes a temporary name and removes it. `name` is for messages. Errors:
/// not_a_regular_file (a FIFO, socket or device), already_exists, name_too_long (directories below 128 levels),
/// invalid_field (a directory into itself), cancelled when `stop` is requested.
[[nodiscard]] Result<std::uint64_t> copy_tree(int object, const std::string& name, int to_directory,
                                              const std::string& to, Keep keep, const std::stop_token& stop = {});

}  // namespace skiff::fs
