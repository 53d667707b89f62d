#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::container {

/// The rules in a policy file (`--egress-file`), in the form of `--egress`. The file is YAML: `version: 1`, and
/// `allow`, a list of rules as for `--egress`, of `{host, ports, protocol: http}` or of `{profile}`. Errors:
/// `invalid_field` with a pointer to what is wrong, unknown, or of a later version; and for a file that allows nothing.
[[nodiscard]] Result<std::vector<std::string>> egress_rules_in(std::string_view yaml);

/// The rules in that file. Errors: also those of read(2).
[[nodiscard]] Result<std::vector<std::string>> read_egress_file(const std::string& path);

}  // namespace skiff::container
