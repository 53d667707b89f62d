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

/// The parameter `limit`: 1 to `most`, and `most` when it is absent. `invalid_field`.
[[nodiscard]] Result<std::size_t> limit_of(const protocol::Target& target, std::size_t most);

/// A parameter that is a number from `least` to `most`; nothing when it is absent. `invalid_field`.
[[nodiscard]] Result<std::optional<std::size_t>> number_of(const protocol::Target& target, std::string_view name,
                                                           std::size_t least, std::size_t most);

/// The field `Idempotency-Key`, empty if there is none: up to 255 visible ASCII characters. `invalid_field`.
[[nodiscard]] Result<std::string> idempotency_key_of(const protocol::Headers& headers);

/// NAME=VALUE&NAME=VALUE with %XX, as it stands in the value of a parameter.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_pairs_of(std::string_view text);

}  // namespace skiff::container::serve
