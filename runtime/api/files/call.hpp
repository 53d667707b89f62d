#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// The directories and the path of a request for files. All work on files runs on disk threads.
struct FileCall {
  std::shared_ptr<const fs::Tree> tree;
  std::string path;  ///< the path in the route's path; empty if the route has none

  /// Errors: session_not_found, and those of opening the session's roots.
  [[nodiscard]] static Task<Result<FileCall>> of(const Call& call);
};

/// A directory's path as the prefix of the results of a search below it: without empty parts and ".".
[[nodiscard]] std::string relative_prefix(std::string_view path);

/// Answers with an entry as `append_entry` writes it, and with its tag in the field ETag.
[[nodiscard]] Task<Result<>> answer_entry(Call& call, unsigned status, std::string_view path, const fs::Entry& entry,
                                          std::string_view tag);

}  // namespace skiff::runtime::api
