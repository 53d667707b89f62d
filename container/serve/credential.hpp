#pragma once

#include <string>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// The API key that a request shows: `X-API-Key: KEY`, or `Authorization: Bearer KEY`; empty: none. `unauthenticated`
/// for two that differ, `invalid_request` for a repeated field.
[[nodiscard]] Result<std::string> presented_key(const protocol::Headers& headers);

/// That of `X-API-Key` alone, for a request whose `Authorization` may be somebody else's.
[[nodiscard]] Result<std::string> key_field(const protocol::Headers& headers);

}  // namespace skiff::container::serve
