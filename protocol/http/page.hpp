#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// Pages for people who open an address in a browser, where programs get JSON.
namespace skiff::protocol {

/// Whether a browser asks for something to show: it names HTML, and likes it better than JSON.
[[nodiscard]] bool prefers_page(const HttpRequest& request);

/// Texts, which may hold anything: they are escaped.
struct Page {
  struct Link {
    std::string address;
    std::string text;
  };
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<Link> links = {};
  std::string small = {};                             ///< what whoever looks after this wants to know
  std::optional<std::chrono::seconds> again_in = {};  ///< the browser asks again by itself
};

/// One file without scripts: it loads nothing, and no other site can show it in a frame.
[[nodiscard]] HttpResponse page_answer(unsigned status, const Page& page);

/// What an error means to somebody who did not write the request. `status`: what it is answered with.
[[nodiscard]] HttpResponse error_page(const HttpRequest& request, unsigned status, const Error& error,
                                      std::string_view request_id);

}  // namespace skiff::protocol
