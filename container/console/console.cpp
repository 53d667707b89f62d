#include "container/console/console.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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
constexpr std::string_view kAgentPort = "7070";
/// Styles of elements are allowed, because xterm.js sets colours and positions as such; scripts come from one file.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// For pages without scripts, which have their style in them.
constexpr std::string_view kTextPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// For all other answers: data for the page's script, which is never a document.
constexpr std::string_view kDataPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox";
/// Fields with credentials, and fields that name a destination. The page needs none of them.
constexpr std::array<std::string_view, 10> kNotOfThePage{
    "Cookie",         "Authorization",    "X-Access-Token", "E2B-Traffic-Access-Token", "X-Skiff-Token",
    "E2b-Sandbox-Id", "E2b-Sandbox-Port", "X-Sandbox-ID",   "X-Sandbox-Port",           "X-Sandbox-Namespace"};

bool reads(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// Ports of the agent and its dialects, of which there are no previews.
constexpr std::array<std::uint16_t, 3> kNotPreviewed{7070, 49983, 49999};

/// True for a route of the server's own API, and for one of an agent's: /s/SANDBOX/7070/v1/... The page's origin does
/// not lead to ports of programs in a sandbox, also not through the agent, whose list of ports it reads.
bool is_for_page(const protocol::Target& target) {
  constexpr std::size_t kAgentParts = 5;
  constexpr std::string_view kApi = "v1";
  const std::vector<std::string>& parts = target.segments;
  if (target.fault || parts.empty()) return false;
  if (parts[0] == kApi) return true;
  return parts.size() >= kAgentParts && parts[0] == "s" && parts[2] == kAgentPort && parts[3] == kApi &&
         (parts[4] != "ports" || parts.size() == kAgentParts);
}

HttpResponse problem(const HttpRequest& request, const Error& error) {
  auto answer = serve::error_answer(serve::Face::own, error, {});
  if (!protocol::prefers_page(request)) return answer;
  const unsigned status = answer.status;
  const bool has_no_session = error.code == Errc::unauthenticated;
  auto page = protocol::page_answer(
      status, {.title = has_no_session ? "You need a new link" : "This is not a page of the console",
               .paragraphs = {error.message + "."},
               .links = {{"/", "The console, if it is open in this browser"}}});
  page.headers.set("Content-Security-Policy", kTextPolicy);
  page.headers.set("X-Frame-Options", "DENY");
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
    if (auto file = page_file(path)) {
      file->headers.add("Content-Security-Policy", kPagePolicy);
      return file;
    }
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
  protocol::Headers& fields = http.request_headers();
  for (const std::string_view name : kNotOfThePage) {
    if (name != "Cookie" && name != "Authorization") fields.remove(name);
  }
  fields.remove("X-API-Key");
  co_await service_->answer(http);
  co_return true;
}

Task<> Console::answer(protocol::HttpExchange& http) {
  if (co_await answer_preview(http)) co_return;
  protocol::Headers& always = http.extra_headers();
  always.set("Content-Security-Policy", kDataPolicy);
  always.set("Cross-Origin-Opener-Policy", "same-origin");
  always.set("Cross-Origin-Resource-Policy", "same-origin");
  always.set("Referrer-Policy", "no-referrer");
  always.set("X-Content-Type-Options", "nosniff");
  always.set("X-Frame-Options", "DENY");
  if (auto own = own_answer(http.request())) {
    (void)co_await http.respond(std::move(*own));
    co_return;
  }
  protocol::Headers& fields = http.request_headers();
  for (const std::string_view name : kNotOfThePage) fields.remove(name);
  fields.set("X-API-Key", key_);
  co_await service_->answer(http);
}

}  // namespace skiff::container::console
