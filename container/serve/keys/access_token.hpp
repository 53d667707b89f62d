#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container::serve {

/// Sends the access token to the E2B dialect of a sandbox that was created without one, for example in a pool: until
/// then everyone who reaches its port may use it. bad_gateway if the dialect already has another token, or does not
/// answer.
[[nodiscard]] Task<Result<>> tell_access_token(Driver* driver, std::string id, std::string token);

}  // namespace skiff::container::serve
