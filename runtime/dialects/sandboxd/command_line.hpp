#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// The original's command line as skiffd's, for a program that is called `sandboxd`: its nine flags, each as `-flag`,
/// `--flag`, with its value behind `=` or in the next word, as Go's `flag` package reads them. What concerns the
/// dialect alone goes into `options()`. Makes the root directory, as the original does. Without a credential in the
/// environment (`SKIFF_TOKEN` and the like) the agent's own port is a free one on loopback and nobody gets in. Errors:
/// invalid_field; io_error and the like for a root that can't be made.
[[nodiscard]] Result<std::vector<std::string>> own_arguments(std::span<const char* const> arguments,
                                                             const char* const* environment);

}  // namespace skiff::runtime::dialects::sandboxd
