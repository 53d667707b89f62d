#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container::serve {

/// Reads the parameter `limit`: 1 to `most`, or `most` if it is absent. `invalid_field` for another value.
[[nodiscard]] Result<std::size_t> limit_of(const protocol::Target& target, std::size_t most);

/// Reads a parameter that is a number from `least` to `most`; nullopt if it is absent. `invalid_field` for another
/// value.
[[nodiscard]] Result<std::optional<std::size_t>> number_of(const protocol::Target& target, std::string_view name,
                                                           std::size_t least, std::size_t most);

/// Reads the field `Idempotency-Key`: up to 255 visible ASCII characters; empty if it is absent. `invalid_field` for
/// another value.
[[nodiscard]] Result<std::string> idempotency_key_of(const protocol::Headers& headers);

/// Parses NAME=VALUE&NAME=VALUE with %XX from the value of a parameter.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_pairs_of(std::string_view text);

}  // namespace skiff::container::serve
