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

// The same without HTTP. What they are given is moved from.

/// Errors: missing_field when there are none, naming `field`.
[[nodiscard]] Result<std::vector<fs::Edit>> edits_of(std::vector<EditRequest>& requests, const std::string& field);
/// The entry of what was edited, with its `diff`.
void append_edited(std::string& out, std::string_view path, const fs::Edited& edited);
/// What a batch asks `identity` to be allowed. Errors: invalid_field, missing_field, insufficient_scope.
[[nodiscard]] Result<std::vector<fs::Operation>> operations_of(const Identity& identity, BatchRequest& request);
/// {"items":[...]}, one an operation. It blocks. Errors: those of fs::run_all, if `atomic`.
[[nodiscard]] Result<std::string> run_batch(const fs::Tree& tree, std::span<const fs::Operation> operations,
                                            bool atomic, const std::stop_token& stop);

}  // namespace skiff::runtime::api
