#include "runtime/api/files/call.hpp"

#include "runtime/api/files/entry_text.hpp"

namespace skiff::runtime::api {

Task<Result<FileCall>> FileCall::of(const Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  co_return FileCall{.tree = std::move(tree), .path = call.params.size() > 1 ? call.params[1] : std::string{}};
}

std::string relative_prefix(std::string_view path) {
  std::string prefix;
  auto split = fs::split_path(path);
  if (!split) return prefix;
  for (const std::string_view name : split->names) {
    if (!prefix.empty()) prefix += '/';
    prefix += name;
  }
  return split->absolute ? '/' + prefix : prefix;
}

Task<Result<>> answer_entry(Call& call, unsigned status, std::string_view path, const fs::Entry& entry,
                            std::string_view tag) {
  std::string text;
  append_entry(text, path, entry, tag);
  if (!tag.empty()) call.http.extra_headers().set("ETag", tag);
  return call.json(status, std::move(text));
}

}  // namespace skiff::runtime::api
