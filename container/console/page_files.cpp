#include "container/console/page_files.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/embedded_file.hpp"

SKIFF_EMBED_FILE(skiff_console_html, SKIFF_CONSOLE "/index.html.gz")
SKIFF_EMBED_FILE(skiff_console_script, SKIFF_CONSOLE "/console.js.gz")
SKIFF_EMBED_FILE(skiff_console_style, SKIFF_CONSOLE "/console.css.gz")

namespace skiff::container::console {
namespace {

/// Styles of elements are allowed, because xterm.js sets colours and positions as such; scripts come from one file.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct PageFile {
  std::string_view path;
  std::string_view type;
  std::string_view (*packed)() noexcept;
};

constexpr std::array kPageFiles{
    PageFile{"/", "text/html; charset=utf-8", &skiff_console_html},
    PageFile{"/console.js", "text/javascript; charset=utf-8", &skiff_console_script},
    PageFile{"/console.css", "text/css; charset=utf-8", &skiff_console_style},
};

}  // namespace

bool has_page() noexcept {
  return !skiff_console_html().empty();
}

std::optional<protocol::HttpResponse> page_file(std::string_view path) {
  const auto* const found = std::ranges::find(kPageFiles, path, &PageFile::path);
  if (found == kPageFiles.end()) return std::nullopt;
  return protocol::HttpResponse{.headers = {{"Content-Type", found->type},
                                            {"Content-Encoding", "gzip"},
                                            {"Cache-Control", "no-store"},
                                            {"Content-Security-Policy", kPagePolicy}},
                                .body = std::string{found->packed()}};
}

}  // namespace skiff::container::console
