#pragma once

#include <string>

#include "runtime/dialects/e2b/rpc.hpp"

/// The methods of filesystem.Filesystem but those of watches. Paths are those that commands see, as far as they are
/// below the roots of the agent's default session.
namespace skiff::runtime::dialects::e2b {

[[nodiscard]] Task<Result<std::string>> stat_entry(Call* call, std::string message);
/// With all that is missing on the way. Errors: also already_exists.
[[nodiscard]] Task<Result<std::string>> create_dir(Call* call, std::string message);
/// Makes what is missing on the way, and replaces a file.
[[nodiscard]] Task<Result<std::string>> move_entry(Call* call, std::string message);
/// Depth first, names sorted by bytes. Errors: also resource_exhausted above 50,000 entries.
[[nodiscard]] Task<Result<std::string>> list_dir(Call* call, std::string message);
/// With all that is in it; content when there is nothing.
[[nodiscard]] Task<Result<std::string>> remove_entry(Call* call, std::string message);

}  // namespace skiff::runtime::dialects::e2b
