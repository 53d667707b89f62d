#pragma once

#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace skiff::kube {

/// Checks that the first certificate in `pem` is valid at `now`, so that an expired certificate is reported; the
/// cluster would only say "Unauthorized". `what` begins the message. Errors: `invalid_field` when `pem` contains no
/// certificate, `unauthenticated` when the certificate has expired or is not valid yet.
[[nodiscard]] Result<> check_certificate(std::string_view pem, WallTime now, std::string_view what);

}  // namespace skiff::kube
