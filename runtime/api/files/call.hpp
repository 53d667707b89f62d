#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// What the file routes share: whose roots, which path, and that everything that touches a file is done on a disk
/// thread.
struct FileCall {
  std::shared_ptr<const fs::Tree> tree;
  std::string path;  ///< the path in the route's path; empty if the route has none

  /// Errors: session_not_found, and those of opening the session's roots.
  [[nodiscard]] static Task<Result<FileCall>> of(const Call& call);
};

/// A path as those in a search below it begin: without empty parts and ".".
[[nodiscard]] std::string relative_prefix(std::string_view path);

/// As `append_entry`, with the tag in an ETag field as well.
[[nodiscard]] Task<Result<>> answer_entry(Call& call, unsigned status, std::string_view path, const fs::Entry& entry,
                                          std::string_view tag);

}  // namespace skiff::runtime::api
