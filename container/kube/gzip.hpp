#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::kube {

/// Unpacks a whole answer with `Content-Encoding: gzip` (RFC 1952). Errors: `invalid_request` when it is cut or
/// damaged, `payload_too_large` when it is larger than `limit` bytes unpacked.
[[nodiscard]] Result<std::string> unpack_gzip(std::string_view packed, std::size_t limit);

}  // namespace skiff::kube
