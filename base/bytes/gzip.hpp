#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff {

/// Unpacks a whole gzip file (RFC 1952), such as a response with `Content-Encoding: gzip`. Errors: `invalid_request`
/// when it is truncated or damaged, `payload_too_large` when it is larger than `limit` bytes unpacked.
[[nodiscard]] Result<std::string> unpack_gzip(std::string_view packed, std::size_t limit);

}  // namespace skiff
