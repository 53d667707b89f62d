#include "protocol/http/page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/http/accepted_types.hpp"

namespace skiff::protocol {
namespace {

using std::chrono::seconds;

/// The interval of reloads for an error that may end soon by itself.
constexpr seconds kSoon{3};

constexpr std::string_view kPicture = "image/";
constexpr std::array<std::string_view, 4> kForPrograms{"application/json", "application/problem+json", "application/*",
                                                       "*/*"};

constexpr std::string_view kStyle =
    "body{font:1rem/1.5 system-ui,sans-serif;color:#222;background:#fff;margin:0}"
    "main{max-width:36rem;margin:15vh auto;padding:0 1.5rem}h1{font-size:1.5rem;line-height:1.25}"
    "small{color:#666}a{color:#0550ae}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}small{color:#999}a{color:#79b8ff}}";

/// 'unsafe-inline' is only for the style: the page has no scripts.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

void append_escaped(std::string& to, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        to += "&amp;";
        break;
      case '<':
        to += "&lt;";
        break;
      case '>':
        to += "&gt;";
        break;
      case '"':
        to += "&quot;";
        break;
      case '\'':
        to += "&#39;";
        break;
      default:
        to += c;
    }
  }
}

void append_element(std::string& to, std::string_view name, std::string_view text) {
  to.append("<").append(name).append(">");
  append_escaped(to, text);
  to.append("</").append(name).append(">\n");
}

std::string text_of(const Page& page) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  if (page.again_in) {
    text += "<meta http-equiv=\"refresh\" content=\"" + std::to_string(page.again_in->count()) + "\">\n";
  }
  append_element(text, "title", page.title);
  text.append("<style>").append(kStyle).append("</style>\n</head>\n<body>\n<main>\n");
  append_element(text, "h1", page.title);
  for (const std::string& paragraph : page.paragraphs) append_element(text, "p", paragraph);
  if (!page.links.empty()) {
    text += "<ul>\n";
    for (const Page::Link& link : page.links) {
      text += "<li><a href=\"";
      append_escaped(text, link.address);
      text += "\">";
      append_escaped(text, link.text);
      text += "</a></li>\n";
    }
    text += "</ul>\n";
  }
  if (!page.small.empty()) append_element(text, "small", page.small);
  return text + "</main>\n</body>\n</html>\n";
}

/// Turns an error's message into a sentence.
std::string sentence(std::string_view message) {
  std::string text{message};
  if (text.empty()) return text;
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - ('a' - 'A'));
  if (text.back() != '.') text += '.';
  return text;
}

}  // namespace

bool prefers_page(const HttpRequest& request) {
  bool is_first = false;
  bool knows_xhtml = false;
  bool names_pictures = false;
  bool others = false;
  for (const std::string_view type : accepted_types(request.headers.get("Accept"))) {
    const bool is_xhtml = same_text(type, "application/xhtml+xml");
    knows_xhtml = knows_xhtml || is_xhtml;
    names_pictures = names_pictures || same_text(type.substr(0, kPicture.size()), kPicture);
    is_first = is_first || (!others && (is_xhtml || same_text(type, "text/html")));
    others = others || std::ranges::any_of(kForPrograms, [type](auto one) { return same_text(type, one); });
  }
  // Java's HttpURLConnection asks for "text/html, image/gif, image/jpeg, */*; q=0.2" if its program says nothing.
  return is_first && (knows_xhtml || !names_pictures);
}

HttpResponse page_answer(unsigned status, const Page& page) {
  return {.status = status,
          .headers = {{"Content-Type", "text/html; charset=utf-8"},
                      {"Content-Security-Policy", kPolicy},
                      {"X-Frame-Options", "SAMEORIGIN"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-store"}},
          .body = text_of(page)};
}

HttpResponse error_page(const HttpRequest& request, unsigned status, const Error& error, std::string_view request_id) {
  Page page{.title = std::string{reason_phrase(status)}};
  bool comes_soon = false;
  switch (error.code) {
    case Errc::port_not_listening:
      // "nothing listens on port 3000 at 127.0.0.1 or ::1"
      page.title = sentence(error.message.substr(0, error.message.find(" at ")) + " yet");
      page.title.pop_back();
      page.paragraphs = {"The program has not started, or it has ended."};
      comes_soon = true;
      break;
    case Errc::bad_gateway:
      page.title = "The program did not answer";
      page.paragraphs = {sentence(error.message)};
      comes_soon = true;
      break;
    case Errc::sandbox_starting:
      page.title = "The sandbox is starting";
      comes_soon = true;
      break;
    case Errc::draining:
      page.title = "This server is about to stop";
      comes_soon = true;
      break;
    case Errc::sandbox_not_found:
      page.title = "There is no such sandbox";
      page.paragraphs = {"It was removed, or the address is wrong."};
      break;
    case Errc::sandbox_not_running:
      page.title = "The sandbox does not run";
      page.paragraphs = {sentence(error.message)};
      break;
    case Errc::unauthenticated:
      page.title = "You need a link or a credential";
      page.paragraphs = {sentence(error.message),
                         "A link that shows this page ends after some time. Ask for a new one where you got it."};
      break;
    default:
      page.paragraphs = {sentence(error.message)};
  }
  if (comes_soon && (request.method == "GET" || request.method == "HEAD")) {
    page.again_in = kSoon;
    page.paragraphs.push_back("This page tries again every " + std::to_string(kSoon.count()) + " seconds.");
  }
  page.small = std::to_string(status) + " " + std::string{name(error.code)};
  if (!request_id.empty()) page.small += ", request " + std::string{request_id};
  return page_answer(status, page);
}

}  // namespace skiff::protocol
