#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// The outcome for the access list of a replaced file (acl(5)).
struct KeptList {
  bool had = false;   ///< the replaced file has one
  bool kept = false;  ///< the new file has it
  mode_t group = 0;   ///< rights of the group in the list, as mode bits; the mode of such a file shows the mask
};

struct KeepOptions {
  bool list = true;                ///< keep the access list, too
  std::string_view not_kept = {};  ///< prefix of attribute names that are not kept; empty: keep all
};

/// Copies the extended attributes (xattr(7)) that users have set, and the access list, from the file at the location,
/// `replaced`, to the new file `fd`. Attributes that the new file has already stay. When no list is kept, a list
/// inherited from the directory is removed: it would grant rights that the replaced file did not. Errors: no_space,
/// io_error.
[[nodiscard]] Result<KeptList> keep_attributes(const Location& location, const Entry& replaced, int fd,
                                               const KeepOptions& options = {});

}  // namespace skiff::fs
