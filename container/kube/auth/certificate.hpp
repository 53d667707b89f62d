#pragma once

#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace skiff::kube {

/// Checks that the first certificate in `pem` is valid at `now`, so that an expired one is told before the cluster says
/// no more than "Unauthorized". `what` begins the message. Errors: `invalid_field` when there is no certificate in it,
/// `unauthenticated` when it has expired or isn't valid yet.
[[nodiscard]] Result<> check_certificate(std::string_view pem, WallTime now, std::string_view what);

}  // namespace skiff::kube
