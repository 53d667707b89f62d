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
  std::string content = {};              ///< write
  std::optional<mode_t> mode = {};       ///< write
  std::vector<Edit> edits = {};          ///< edit
  std::string to = {};                   ///< move
  Existing existing = Existing::refuse;  ///< move: what may be at `to`; in an atomic batch never a directory
  Contents contents = Contents::refuse;  ///< remove
  Conditions conditions = {};            ///< of what is at `path`
};

struct Outcome {
  std::optional<Written> written = {};  ///< none for a removal
  std::string diff = {};                ///< of an edit
  bool diff_cut = false;
};

inline constexpr std::size_t kMostOperations = 500;

/// All operations or none. With all names locked everything is checked first and all new content is written to
/// temporary files; then come the renames, in order. When one of those fails, what was done is undone. While they run,
/// and when the agent is killed meanwhile, a reader can see a part of them; a kill may also leave names that begin with
/// ".skiff-". Directories that were made on the way to a file stay. No name may occur twice. Errors: those of the
/// single operations with the operation's number in front, and its field below "/operations/N"; not_supported for a
/// move to another file system; cancelled when `stop` is requested before the renames.
[[nodiscard]] Result<std::vector<Outcome>> run_all(const Tree& tree, std::span<const Operation> operations,
                                                   const std::stop_token& stop = {});

/// One after the other, each by itself; those that come after `stop` is requested are `cancelled`.
[[nodiscard]] std::vector<Result<Outcome>> run_each(const Tree& tree, std::span<const Operation> operations,
                                                    const std::stop_token& stop = {});

}  // namespace skiff::fs
