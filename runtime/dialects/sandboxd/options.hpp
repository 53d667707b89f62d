#pragma once

#include <cstddef>
#include <string>

namespace skiff::runtime::dialects::sandboxd {

/// What only the original's own command line sets (command_line.hpp); written before the agent starts, read from then
/// on.
struct Options {
  std::string metadata_prefix = "SANDBOX_";          ///< of the variables that /v1/metadata shows
  std::size_t chunk_bytes = std::size_t{64} << 10U;  ///< most output in one message of Start
};
[[nodiscard]] Options& options() noexcept;

}  // namespace skiff::runtime::dialects::sandboxd
