#pragma once

#include <optional>
#include <string_view>

#include "protocol/http/message.hpp"

/// The files of the console's page, which `make console` builds from container/console/page.
namespace skiff::container::console {

/// False for a program that was built without the page.
[[nodiscard]] bool has_page() noexcept;

/// The answer with the file at a path, packed by gzip; nullopt if there is none.
[[nodiscard]] std::optional<protocol::HttpResponse> page_file(std::string_view path);

}  // namespace skiff::container::console
