#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "fs/compression.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// What a search thread does for a response: it gives its bytes to the sink, which returns false when the client is
/// gone, and is asked to stop then. An error before the first byte becomes the response; a later one cuts the body.
using Producer = std::function<Result<>(const fs::ByteSink& sink, const std::stop_token& stop)>;

/// Runs `producer` on a thread of the searches' pool and sends what it makes, chunked, as `content_type`.
[[nodiscard]] Task<Result<>> stream_from_pool(Call& call, std::string content_type, Producer producer);

}  // namespace skiff::runtime::api
