#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http/message.hpp"

namespace skiff::runtime::api {

struct Call;

/// 1 to 65535, in digits alone. Errors: invalid_field.
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

/// What is left of the target behind /v1/ports/{port}, byte for byte as it was sent, with the query: "/a%2Fb?c".
[[nodiscard]] std::string target_behind_port(const protocol::HttpRequest& request);

/// ANY /v1/ports/{port}/{path}: docs/adr/0023.
[[nodiscard]] Task<Result<>> pass_to_port(Call& call);

}  // namespace skiff::runtime::api
