#include "runtime/dialects/python_runtime/base_path.hpp"

namespace skiff::runtime::dialects::python_runtime {

Task<Result<Base>> base_of(Request* request) {
  SKIFF_CO_TRY(auto session, request->agent.registry.find(sessions::Registry::kDefault));
  request->session = session->id();
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  co_return Base{.tree = std::move(tree), .root = request->agent.settings.root};
}

std::string below_base(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string{path};
}

std::string as_printed(const Base& base, std::string_view below) {
  std::string absolute = '/' + std::string{below};
  for (const std::string& root : {base.root, base.tree->main_path()}) {
    if (root != "/" && absolute.starts_with(root) && (absolute.size() == root.size() || absolute[root.size()] == '/')) {
      return absolute;
    }
  }
  return {};
}

}  // namespace skiff::runtime::dialects::python_runtime
