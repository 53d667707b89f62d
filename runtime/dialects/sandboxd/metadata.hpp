#pragma once

#include <string>
#include <string_view>

namespace skiff::runtime::dialects::sandboxd {

/// `{"env":{...}}`: the variables of an environment (environ(7)) whose names begin with `prefix`, by name, without
/// those whose names look like a credential's. Whoever reaches the port reads them.
[[nodiscard]] std::string metadata(const char* const* environment, std::string_view prefix);

}  // namespace skiff::runtime::dialects::sandboxd
