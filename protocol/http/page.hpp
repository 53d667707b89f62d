#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// Pages for people who open an address in a browser; programs get JSON.
namespace skiff::protocol {

/// Whether a browser asks for a page: it names HTML and prefers it to JSON.
[[nodiscard]] bool prefers_page(const HttpRequest& request);

/// Texts of a page, with any content: they are escaped.
struct Page {
  struct Link {
    std::string address;
    std::string text;
  };
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<Link> links = {};
  std::string small = {};                             ///< details for the administrator
  std::optional<std::chrono::seconds> again_in = {};  ///< reload interval of the browser
};

/// Creates one HTML file without scripts: it loads no other file, and no other site can show it in a frame.
[[nodiscard]] HttpResponse page_answer(unsigned status, const Page& page);

/// Explains an error to a person who did not write the request. `status` is the status of the response.
[[nodiscard]] HttpResponse error_page(const HttpRequest& request, unsigned status, const Error& error,
                                      std::string_view request_id);

}  // namespace skiff::protocol
