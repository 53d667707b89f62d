#pragma once

#include <optional>
#include <string_view>

#include "protocol/http/message.hpp"

/// The files of the console's page, which `make console` builds from container/console/page.
namespace skiff::container::console {

/// False for a program that was built without the page.
[[nodiscard]] bool has_page() noexcept;
inline constexpr const char* kNoPage =
    "this skiff was built without the console's page: `make console` builds the page with npm, and `make build` then "
    "takes it in";

/// The answer with the file at a path, packed by gzip, and the page's policy; nullopt if there is none.
[[nodiscard]] std::optional<protocol::HttpResponse> page_file(std::string_view path);

}  // namespace skiff::container::console
