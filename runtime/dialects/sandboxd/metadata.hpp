#pragma once

#include <string>
#include <string_view>

namespace skiff::runtime::dialects::sandboxd {

/// The JSON `{"env":{...}}` with the variables of an environment (environ(7)) whose names begin with `prefix`, by name.
/// Names that look like a credential's are left out: everybody who reaches the port reads this.
[[nodiscard]] std::string metadata(const char* const* environment, std::string_view prefix);

}  // namespace skiff::runtime::dialects::sandboxd
