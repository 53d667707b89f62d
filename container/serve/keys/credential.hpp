#pragma once

#include <string>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// The API key of a request: `X-API-Key: KEY`, or `Authorization: Bearer KEY`; empty if there is none.
/// `unauthenticated` for two different keys, `invalid_request` for a repeated field.
[[nodiscard]] Result<std::string> presented_key(const protocol::Headers& headers);

/// The key of one field only, for a request whose other field may be meant for the application.
[[nodiscard]] Result<std::string> key_field(const protocol::Headers& headers);
[[nodiscard]] std::string bearer_key(const protocol::Headers& headers);

}  // namespace skiff::container::serve
