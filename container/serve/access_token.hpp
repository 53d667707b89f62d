#pragma once

#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container::serve {

/// Closes the dialect of a sandbox that was made before anybody knew its access token, as one out of a pool was:
/// without one whoever reaches its port may use it. Errors: bad_gateway when somebody else has closed it before, or
/// nobody answers there.
[[nodiscard]] Task<Result<>> tell_access_token(Driver* driver, std::string id, std::string token);

}  // namespace skiff::container::serve
