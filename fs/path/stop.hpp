#pragma once

#include <stop_token>

#include "base/error.hpp"

namespace skiff::fs {

/// Returns the error of a call that was asked to stop: `cancelled`.
[[nodiscard]] inline std::unexpected<Error> stopped_error() {
  return fail(Errc::cancelled, "the caller no longer waits for the result");
}

}  // namespace skiff::fs
