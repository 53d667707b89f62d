#pragma once

#include <stop_token>
#include <string>

#include "base/error.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// Removes a name and, if it is a directory, everything below it, by descriptors: links are not followed, and a
/// directory that is replaced by a link meanwhile is not entered. Any depth needs a bounded number of descriptors.
/// Names that are added meanwhile are removed too, up to a bound. Missing names are not an error. Errors:
/// permission_denied (also for a read-only root of `tree`), directory_not_empty when other processes keep filling it,
/// cancelled when `stop` is requested: a part is gone then.
[[nodiscard]] Result<> remove_tree(const Tree& tree, int directory, const std::string& name,
                                   const std::stop_token& stop = {});

}  // namespace skiff::fs
