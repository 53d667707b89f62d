#pragma once

#include <string>

#include "base/error.hpp"

namespace skiff::runtime::egress {

/// Writes what commands have to trust if the egress proxy ends TLS, as files in `directory`: `ca_pem`, also behind the
/// system's own certificates and as Java reads them; and the settings of programs that no variable tells of
/// certificates. Errors: those of open(2) and write(2).
[[nodiscard]] Result<> write_trust(const std::string& directory, const std::string& ca_pem);

}  // namespace skiff::runtime::egress
