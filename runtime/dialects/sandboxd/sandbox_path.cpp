#include "runtime/dialects/sandboxd/sandbox_path.hpp"

#include <utility>
#include <vector>

#include "sessions/registry.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

/// Whether `names` begin with those of `root`.
bool lies_below(const std::vector<std::string_view>& names, const std::vector<std::string_view>& root) {
  if (names.size() < root.size()) return false;
  for (std::size_t i = 0; i < root.size(); ++i) {
    if (names[i] != root[i]) return false;
  }
  return true;
}

/// The names of a path without "." and "..". Errors: path_escapes_root for a relative path that goes above its
/// beginning.
Result<std::vector<std::string_view>> cleaned(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> names;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (!names.empty()) {
      names.pop_back();
    } else if (!absolute) {
      return fail(Errc::path_escapes_root, "path traversal outside sandbox root is forbidden");
    }
  }
  return names;
}

}  // namespace

Result<std::string> sandbox_path(std::string_view path, std::string_view root) {
  SKIFF_TRY(auto names, cleaned(path));
  std::size_t first = 0;
  if (path.starts_with('/')) {
    const auto root_names = cleaned(root);
    if (root_names && lies_below(names, *root_names)) first = root_names->size();
  }
  std::string below;
  for (std::size_t i = first; i < names.size(); ++i) {
    if (!below.empty()) below += '/';
    below += names[i];
  }
  return below.empty() ? "." : below;
}

Task<Result<Sandbox>> open_sandbox(const sessions::Registry* registry) {
  SKIFF_CO_TRY(auto session, registry->find(sessions::Registry::kDefault));
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  std::string root = session->root();
  co_return Sandbox{.session = std::move(session), .tree = std::move(tree), .root = std::move(root)};
}

}  // namespace skiff::runtime::dialects::sandboxd
