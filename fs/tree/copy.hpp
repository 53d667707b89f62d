#pragma once

#include <stop_token>
#include <string>

#include "base/error.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// What a copy keeps of the original beside its bytes.
enum class Keep : unsigned char {
  mode,       ///< as `cp -r`, with set-id bits left out
  everything  ///< mode, times and, as far as the agent may, the owner: for a move to another file system
};

/// All bytes of a file to one that is empty: shared by both where the file system can (FICLONE), else moved by the
/// kernel; holes stay holes. Errors: no_space, io_error, cancelled when `stop` is requested.
[[nodiscard]] Result<> copy_bytes(int from, int to, const std::stop_token& stop = {});

/// Copies an object (O_PATH will do), whole trees too, to a name that must be new; links are copied as links. What it
/// has made when it fails stays: the caller gives a temporary name and removes that. `name` is for messages. Errors:
/// not_a_regular_file (a FIFO, socket or device), already_exists, name_too_long (directories below 128 levels),
/// invalid_field (a directory into itself), cancelled when `stop` is requested.
[[nodiscard]] Result<std::uint64_t> copy_tree(int object, const std::string& name, int to_directory,
                                              const std::string& to, Keep keep, const std::stop_token& stop = {});

}  // namespace skiff::fs
