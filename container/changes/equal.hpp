#pragma once

#include <stop_token>
#include <string>

#include "base/error.hpp"

namespace skiff::container::changes {

/// Compares the bytes of two regular files of the same size. Holes that both have are skipped. Errors: io_error,
/// cancelled when `stop` is requested.
[[nodiscard]] Result<bool> has_same_bytes(int one, int other, const std::stop_token& stop = {});

/// The target of a link (O_PATH). Errors: those of readlink(2).
[[nodiscard]] Result<std::string> target_of(int link);

}  // namespace skiff::container::changes
