#include "container/console/console.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "container/console/guard.hpp"
#include "container/console/page_files.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/gateway/destination.hpp"
#include "container/serve/keys/api_key.hpp"
#include "protocol/http/page.hpp"

namespace skiff::container::console {
namespace {

using protocol::HttpRequest;
using protocol::HttpResponse;

constexpr std::string_view kOpenPath = "/open";
constexpr std::string_view kOnce = "once";

bool reads(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// Ports of the agent and its dialects, of which there are no previews.
constexpr std::array<std::uint16_t, 3> kNotPreviewed{7070, 49983, 49999};

HttpResponse problem(const HttpRequest& request, const Error& error) {
  auto answer = serve::error_answer(serve::Face::own, error, {});
  if (!protocol::prefers_page(request)) return answer;
  const unsigned status = answer.status;
  const bool has_no_session = error.code == Errc::unauthenticated;
  auto page = protocol::page_answer(
      status, {.title = has_no_session ? "You need a new link" : "This is not a page of the console",
               .paragraphs = {error.message + "."},
               .links = {{"/", "The console, if it is open in this browser"}}});
  confine_page(page.headers);
  return page;
}

}  // namespace

std::string new_preview_domain() {
  return "skiff-previews-" + serve::new_nonce() + ".localhost";
}

Console::Console(serve::Service* service, std::string key, std::string sandbox)
    : service_{service}, key_{std::move(key)}, sandbox_{std::move(sandbox)} {}

std::string Console::link(std::uint16_t port) const {
  return "http://" + door_.host() + ":" + std::to_string(port) + std::string{kOpenPath} + "?" + std::string{kOnce} +
         "=" + door_.secret();
}

HttpResponse Console::open(const HttpRequest& request) {
  auto cookie = door_.open(request.target.parameter(kOnce).value_or(""));
  if (!cookie) return problem(request, cookie.error());
  return {.status = 303,
          .headers = {{"Location", sandbox_.empty() ? "/" : "/#/sandboxes/" + protocol::percent_encode(sandbox_)},
                      {"Set-Cookie", *cookie},
                      {"Cache-Control", "no-store"}},
          .body = {}};
}

std::optional<HttpResponse> Console::own_answer(const HttpRequest& request) {
  if (const auto named = door_.check_host(request); !named) return problem(request, named.error());
  const std::string_view path{request.target.path};
  if (reads(request)) {
    if (auto file = page_file(path)) return file;
  }
  // HEAD does not spend the link.
  if (path == kOpenPath && request.method == "GET") return open(request);
  if (!is_for_page(request.target)) {
    return problem(request, {Errc::not_found, "the console has no such address"});
  }
  if (const auto admitted = door_.admit(request); !admitted) return problem(request, admitted.error());
  return std::nullopt;
}

Task<bool> Console::answer_preview(protocol::HttpExchange& http) {
  const auto destination = serve::destination_of(http.request(), service_->options().domain);
  // check_host refuses the names of other consoles' previews, and names without a port.
  if (!destination || !*destination || (*destination)->by != serve::NamedBy::host) co_return false;
  if (std::ranges::find(kNotPreviewed, (*destination)->port) != kNotPreviewed.end()) co_return false;
  // Only a preview's own link and cookie count here. Authorization is the program's own.
  keep_fields_of_programs(http.request_headers());
  co_await service_->answer(http);
  co_return true;
}

Task<> Console::answer(protocol::HttpExchange& http) {
  if (co_await answer_preview(http)) co_return;
  confine(http.extra_headers());
  if (auto own = own_answer(http.request())) {
    (void)co_await http.respond(std::move(*own));
    co_return;
  }
  protocol::Headers& fields = http.request_headers();
  keep_fields_of_page(fields);
  fields.set("X-API-Key", key_);
  co_await service_->answer(http);
}

}  // namespace skiff::container::console
