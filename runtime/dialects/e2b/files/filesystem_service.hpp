#pragma once

#include <string>

#include "runtime/dialects/e2b/rpc.hpp"

/// The methods of filesystem.Filesystem, except those of watches. Paths are those that commands see. They must be below
/// the roots of the agent's default session.
namespace skiff::runtime::dialects::e2b {

[[nodiscard]] Task<Result<std::string>> stat_entry(Call* call, std::string message);
/// Creates a directory and its missing parents. Errors: also already_exists.
[[nodiscard]] Task<Result<std::string>> create_dir(Call* call, std::string message);
/// Moves an entry. Creates the missing parents of the destination, and replaces a file there.
[[nodiscard]] Task<Result<std::string>> move_entry(Call* call, std::string message);
/// Lists a directory depth first, names sorted by bytes. Errors: also resource_exhausted above 50,000 entries.
[[nodiscard]] Task<Result<std::string>> list_dir(Call* call, std::string message);
/// Removes an entry with all that is in it. Succeeds if nothing is there.
[[nodiscard]] Task<Result<std::string>> remove_entry(Call* call, std::string message);

}  // namespace skiff::runtime::dialects::e2b
