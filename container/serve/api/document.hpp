#pragma once

#include <string>

namespace skiff::container::serve {

/// The OpenAPI document of the server, generated from its table of routes.
[[nodiscard]] std::string api_document();

}  // namespace skiff::container::serve
