#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Opens the directory at `path` beneath `directory` for reading, component by component and through no link: `path` is
/// relative, "" and "." stand for `directory` itself, `..` is refused (`path_escapes_root`, as is a link).
[[nodiscard]] Result<UniqueFd> descend(int directory, std::string_view path);

[[nodiscard]] bool is_link(int directory, const std::string& name);

/// A path relative to a directory, cut into the directory that holds it and its name. `name` is empty for "" and ".".
struct DirectoryAndName {
  std::string_view directory;
  std::string_view name;
};
[[nodiscard]] DirectoryAndName directory_and_name(std::string_view path) noexcept;

/// The path without empty components and `.`. Refuses what is absolute, holds `..` (`path_escapes_root`), a zero byte
/// (`invalid_field`) or a component above 255 bytes (`name_too_long`).
[[nodiscard]] Result<std::string> clean_path(std::string_view path);

}  // namespace skiff::fs
