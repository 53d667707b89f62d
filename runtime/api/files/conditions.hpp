#pragma once

#include <sys/types.h>

#include <string_view>

#include "fs/content/target.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// Reads If-Match and If-None-Match for a change. Errors: invalid_field.
[[nodiscard]] Result<fs::Conditions> conditions_of(const Call& call);

/// Parses an octal mode, "0755". Errors: invalid_field; insufficient_scope for set-id bits without the scope admin.
[[nodiscard]] Result<mode_t> asked_mode(const Identity& identity, std::string_view text, std::string_view field);

}  // namespace skiff::runtime::api
