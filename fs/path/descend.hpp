#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Opens the folder at `path` beneath `folder` for reading, component by component and through no link: `path` is
/// relative, "" and "." stand for `folder` itself, `..` is refused (`path_escapes_root`, as is a link).
[[nodiscard]] Result<UniqueFd> descend(int folder, std::string_view path);

[[nodiscard]] bool is_link(int folder, const std::string& name);

/// A path relative to a folder, cut into the folder that holds it and its name. `name` is empty for "" and ".".
struct FolderAndName {
  std::string_view folder;
  std::string_view name;
};
[[nodiscard]] FolderAndName folder_and_name(std::string_view path) noexcept;

/// The path without empty components and `.`. Refuses what is absolute, holds `..` (`path_escapes_root`), a zero byte
/// (`invalid_field`) or a component above 255 bytes (`name_too_long`).
[[nodiscard]] Result<std::string> clean_path(std::string_view path);

}  // namespace skiff::fs
