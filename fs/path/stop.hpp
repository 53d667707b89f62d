#pragma once

#include <stop_token>

#include "base/error.hpp"

namespace skiff::fs {

/// Returns the error of a call that was asked to stop: `cancelled`.
[[nodiscard]] inline std::unexpected<Error> stopped_error() {
  return fail(Errc::cancelled, "nobody waits for this any more");
}

}  // namespace skiff::fs
