#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "fs/path/tree.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// Where files are: the roots of the default session.
struct Base {
  std::shared_ptr<const fs::Tree> tree;
  std::string root;  ///< absolute, as it was configured
};
/// Errors: those of opening the roots.
[[nodiscard]] Task<Result<Base>> base_of(Request* request);

/// A client's path as one below the root: also an absolute one is, and slashes at its end say nothing.
[[nodiscard]] std::string below_base(std::string_view path);

/// The path that `pwd` would print in a shell, if that is what `below` is: it begins with the root's own. Else empty.
[[nodiscard]] std::string as_printed(const Base& base, std::string_view below);

/// `open(below)`, or what is meant by `as_printed` where nothing is there.
template <class Open>
auto open_at(const Base& base, const std::string& below, Open open) {
  auto opened = open(below);
  if (opened || opened.error().code != Errc::path_not_found) return opened;
  if (const std::string printed = as_printed(base, below); !printed.empty()) return open(printed);
  return opened;
}

}  // namespace skiff::runtime::dialects::python_runtime
