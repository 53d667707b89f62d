#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// GET .../files:watch: changes below a folder as server-sent events, until the client goes or the folder does.
[[nodiscard]] Task<Result<>> watch_files(Call& call);

}  // namespace skiff::runtime::api
