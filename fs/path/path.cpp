#include "fs/path/path.hpp"

#include <algorithm>

namespace skiff::fs {

Result<SplitPath> split_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos)
    return fail(Errc::invalid_field, "a path can't hold a NUL byte", "path");
  if (path.size() > kMostPathBytes) {
    return fail(Errc::name_too_long, "the path has " + std::to_string(path.size()) + " bytes, more than 4095", "path");
  }
  SplitPath split;
  split.absolute = path.starts_with('/');
  split.names.reserve(static_cast<std::size_t>(std::ranges::count(path, '/')) + 1);
  for (bool more = true; more;) {
    const std::size_t slash = path.find('/');
    more = slash != std::string_view::npos;
    const std::string_view name = path.substr(0, slash);
    if (more) path.remove_prefix(slash + 1);
    split.directory = name.empty() || name == "." || name == "..";
    if (name.empty() || name == ".") continue;
    if (name.size() > kMostNameBytes) {
      return fail(Errc::name_too_long, "a name has " + std::to_string(name.size()) + " bytes, more than 255", "path");
    }
    split.names.push_back(name);
  }
  return split;
}

std::string join(std::span<const std::string_view> names, bool directory) {
  if (names.empty()) return ".";
  std::string path;
  std::size_t size = names.size();
  for (const std::string_view name : names) size += name.size();
  path.reserve(size);
  for (const std::string_view name : names) {
    if (!path.empty()) path += '/';
    path += name;
  }
  if (directory) path += '/';
  return path;
}

std::string in_quotes(std::string_view path) {
  std::string text{'"'};
  text += path;
  return text += '"';
}

}  // namespace skiff::fs
