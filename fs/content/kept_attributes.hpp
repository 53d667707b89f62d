#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// What became of the access list of a replaced file (acl(5)).
struct KeptList {
  bool had = false;   ///< the replaced file has one
  bool kept = false;  ///< the new file has it
  mode_t group = 0;   ///< what the list gives to the group, as bits of a mode: the mode of such a file shows the mask
};

struct KeepOptions {
  bool list = true;                ///< the access list, too
  std::string_view not_kept = {};  ///< names of attributes that begin so; empty: none
};

/// Gives the new file `fd` the extended attributes (xattr(7)) that users have set on the file at the place, `replaced`,
/// and its access list. An attribute that the new file has already stays. Without a list to keep, one
/// that it got from its directory goes: it would let in whom the replaced file did not. Errors: no_space, io_error.
[[nodiscard]] Result<KeptList> keep_attributes(const Place& place, const Entry& replaced, int fd,
                                               const KeepOptions& options = {});

}  // namespace skiff::fs
