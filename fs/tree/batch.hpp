#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fs/content/edit.hpp"
#include "fs/content/target.hpp"
#include "fs/path/tree.hpp"
#include "fs/tree/change.hpp"

namespace skiff::fs {

struct Operation {
  enum class Kind : unsigned char { write, edit, remove, move };
  Kind kind = Kind::write;
  std::string path;
  std::string content = {};              ///< for write
  std::optional<mode_t> mode = {};       ///< for write
  std::vector<Edit> edits = {};          ///< for edit
  std::string to = {};                   ///< for move
  Existing existing = Existing::refuse;  ///< for move: what may be at `to`; in an atomic batch never a directory
  Contents contents = Contents::refuse;  ///< for remove
  Conditions conditions = {};            ///< conditions for the entry at `path`
};

struct Outcome {
  std::optional<Written> written = {};  ///< none for a removal
  std::string diff = {};                ///< diff of an edit
  bool diff_cut = false;
};

inline constexpr std::size_t kMostOperations = 500;

/// Runs all operations or none. With all names locked, it checks all operations and writes all new content to temporary
/// files; then it does the renames, in order. If a rename fails, the renames before it are undone. During the renames,
/// and if the agent is killed meanwhile, a reader can see a part of them; a kill may also leave names that begin with
/// ".skiff-". Directories that were created on the way to a file stay. No name may occur twice. Errors: those of the
/// single operations with the operation's number in front, and a field below "/operations/N"; not_supported for a move
/// to another file system; cancelled when `stop` is requested before the renames.
[[nodiscard]] Result<std::vector<Outcome>> run_all(const Tree& tree, std::span<const Operation> operations,
                                                   const std::stop_token& stop = {});

/// Runs the operations one after the other, each by itself; those after `stop` is requested are `cancelled`.
[[nodiscard]] std::vector<Result<Outcome>> run_each(const Tree& tree, std::span<const Operation> operations,
                                                    const std::stop_token& stop = {});

}  // namespace skiff::fs
