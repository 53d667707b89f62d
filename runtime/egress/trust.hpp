#pragma once

#include <string>

#include "base/error.hpp"
#include "sessions/spawn/environment.hpp"

namespace skiff::runtime::egress {

/// Writes what commands have to trust if the egress proxy ends TLS: `ca_pem` to `directory`/ca.pem, and behind the
/// system's own certificates to ca-bundle.pem; and the settings of programs that no variable tells of certificates.
/// Errors: those of open(2) and write(2).
[[nodiscard]] Result<> write_trust(const std::string& directory, const std::string& ca_pem);

/// Names these settings to their programs. A variable that the image has set stays.
void set_trust_variables(const std::string& directory, sessions::Variables& variables);

}  // namespace skiff::runtime::egress
