#pragma once

#include <span>
#include <string>
#include <vector>

#include "fs/content/edit.hpp"
#include "fs/tree/batch.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/requests.hpp"

namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> edit_file(Call& call, const FileCall& file);  ///< PATCH .../files/{path} with JSON
[[nodiscard]] Task<Result<>> change_files(Call& call);                     ///< POST .../files:batch

// The steps of these handlers without HTTP, for other protocols. They move from their arguments.

/// Converts edits. Errors: missing_field, which names `field`, when there are none.
[[nodiscard]] Result<std::vector<fs::Edit>> edits_of(std::vector<EditRequest>& requests, const std::string& field);
/// Appends the entry of an edited file, with its `diff`.
void append_edited(std::string& out, std::string_view path, const fs::Edited& edited);
/// Converts a batch, and checks that `identity` may do it. Errors: invalid_field, missing_field, insufficient_scope.
[[nodiscard]] Result<std::vector<fs::Operation>> operations_of(const Identity& identity, BatchRequest& request);
/// Runs a batch and returns {"items":[...]}, one item for each operation. It blocks. Errors: those of fs::run_all, if
/// `atomic`.
[[nodiscard]] Result<std::string> run_batch(const fs::Tree& tree, std::span<const fs::Operation> operations,
                                            bool atomic, const std::stop_token& stop);

}  // namespace skiff::runtime::api
