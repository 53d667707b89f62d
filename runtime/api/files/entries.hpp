#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "fs/tree/list.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Handlers for directories, names and modes.

[[nodiscard]] Task<Result<>> list_files(Call& call);
[[nodiscard]] Task<Result<>> stat_files(Call& call);
[[nodiscard]] Task<Result<>> move_file(Call& call);
[[nodiscard]] Task<Result<>> copy_file(Call& call);
[[nodiscard]] Task<Result<>> create_directory(Call& call);
[[nodiscard]] Task<Result<>> create_link(Call& call);
[[nodiscard]] Task<Result<>> set_file_mode(Call& call);

/// A page of a list as its route answers it: {"items":[...],"next_cursor"?}. `options.cursor` comes from `list_cursor`.
/// It blocks. Errors: those of fs::list.
[[nodiscard]] Result<std::string> list_page(const fs::Tree& tree, std::string_view path,
                                            const fs::ListOptions& options);
/// A filter for the paths of a list: a glob, or a regular expression as `re:EXPRESSION`. Errors: invalid_field.
[[nodiscard]] Result<std::function<bool(std::string_view)>> wanted_by(std::string_view pattern);
/// Decodes a cursor. Errors: invalid_field if it is not the `next_cursor` of an answer.
[[nodiscard]] Result<std::string> list_cursor(std::string_view next_cursor);

}  // namespace skiff::runtime::api
