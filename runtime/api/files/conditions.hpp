#pragma once

#include <sys/types.h>

#include <string_view>

#include "fs/content/target.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// If-Match and If-None-Match as a writer keeps them. Errors: invalid_field.
[[nodiscard]] Result<fs::Conditions> conditions_of(const Call& call);

/// An octal mode, "0755", that whoever asks may give a file. Errors: invalid_field; insufficient_scope for set-id bits
/// of anybody but an admin.
[[nodiscard]] Result<mode_t> asked_mode(const Identity& identity, std::string_view text, std::string_view field);

}  // namespace skiff::runtime::api
