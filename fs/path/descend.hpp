#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Opens the directory at `path` beneath `directory` for reading, component by component, through no link. `path` is
/// relative; "" and "." mean `directory` itself; `..` and links are refused (`path_escapes_root`).
[[nodiscard]] Result<UniqueFd> descend(int directory, std::string_view path);

[[nodiscard]] bool is_link(int directory, const std::string& name);

/// A relative path, split into the directory that holds the name and the name. `name` is empty for "" and ".".
struct DirectoryAndName {
  std::string_view directory;
  std::string_view name;
};
[[nodiscard]] DirectoryAndName directory_and_name(std::string_view path) noexcept;

/// Returns the path without empty components and `.`. Refuses an absolute path or `..` (`path_escapes_root`), a zero
/// byte (`invalid_field`) and a component above 255 bytes (`name_too_long`).
[[nodiscard]] Result<std::string> clean_path(std::string_view path);

}  // namespace skiff::fs
