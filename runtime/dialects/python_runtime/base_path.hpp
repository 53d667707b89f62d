#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "fs/path/tree.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// The directory of the files: the roots of the default session.
struct Base {
  std::shared_ptr<const fs::Tree> tree;
  std::string root;  ///< absolute, as it was configured
};
/// Opens the roots. Errors: those of opening them.
[[nodiscard]] Task<Result<Base>> base_of(Request* request);

/// A client's path relative to the root. An absolute path begins at the root, too. Slashes at its end are ignored.
[[nodiscard]] std::string below_base(std::string_view path);

/// The absolute path, if `below` is one as `pwd` prints it without its first slash: it begins with the root's own path.
/// Else empty.
[[nodiscard]] std::string as_printed(const Base& base, std::string_view below);

/// Runs `open(below)`. If nothing is there, runs `open` with the path of `as_printed`.
template <class Open>
auto open_at(const Base& base, const std::string& below, Open open) {
  auto opened = open(below);
  if (opened || opened.error().code != Errc::path_not_found) return opened;
  if (const std::string printed = as_printed(base, below); !printed.empty()) return open(printed);
  return opened;
}

}  // namespace skiff::runtime::dialects::python_runtime
