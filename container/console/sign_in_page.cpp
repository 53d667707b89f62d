#include "container/console/sign_in_page.hpp"

#include <algorithm>

#include "base/bytes/text.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/problem.hpp"

namespace skiff::container::console {
namespace {

constexpr std::string_view kField = "key";
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in · skiff console</title>
<style>
body{font:1rem/1.5 system-ui,sans-serif;color:#1c2529;background:#fff;margin:0}
main{max-width:26rem;margin:15vh auto;padding:0 1.5rem}
h1{font-size:1.5rem;line-height:1.25}
label{display:block;font-weight:600}
input,button{box-sizing:border-box;width:100%;font:inherit;padding:.5rem .75rem;border:1px solid #5d6b71;border-radius:.375rem}
input{margin:.25rem 0 1rem;color:inherit;background:transparent}
button{border:0;color:#fff;background:#0f5a64;font-weight:600;cursor:pointer}
small{color:#55636a}
[role=alert]{color:#a4161a;font-weight:600}
@media(prefers-color-scheme:dark){body{color:#dfe7ea;background:#10171a}button{color:#10171a;background:#6fc6d2}
small{color:#9fb0b6}[role=alert]{color:#ff9a9c}}
</style>
</head>
<body>
<main>
<h1>Sign in to the skiff console</h1>
)";
constexpr std::string_view kForm = R"(<form method="post" action="/sign-in">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" maxlength="256" required autofocus>
<button>Sign in</button>
</form>
<p><small>A key begins with e2b_. The operator of this server makes one with <code>skiff key create NAME</code>. The session has the
rights of the key, and ends with it, with the browser, or after 12 hours.</small></p>
</main>
</body>
</html>
)";

/// The sentences do not depend on what was sent, so nothing in them needs to be escaped.
std::string_view told(const Error& refused) {
  switch (refused.code) {
    case Errc::unauthenticated:
      return "This key is not known, or it has expired.";
    case Errc::resource_exhausted:
      return "Too many keys from your address are being verified. Try again.";
    case Errc::origin_not_allowed:
      return "Another page has asked to sign you in. If you want to sign in, do it here.";
    case Errc::cluster_unavailable:
      return "The keys cannot be read now. Try again later.";
    default:
      return "This was not understood. Try again.";
  }
}

protocol::HttpResponse page(unsigned status, std::string_view refusal) {
  std::string text{kHead};
  if (!refusal.empty()) text.append("<p role=\"alert\">").append(refusal).append("</p>\n");
  // With no-referrer a browser would not name the form's origin.
  return {.status = status,
          .headers = {{"Content-Type", "text/html; charset=utf-8"},
                      {"Content-Security-Policy", kPolicy},
                      {"Referrer-Policy", "same-origin"},
                      {"Cache-Control", "no-store"}},
          .body = text.append(kForm)};
}

}  // namespace

protocol::HttpResponse sign_in_page() {
  return page(200, {});
}

protocol::HttpResponse sign_in_page(const Error& refused) {
  return page(protocol::http_status(refused.code), told(refused));
}

std::string key_in_form(std::string_view body) {
  while (!body.empty()) {
    const std::string_view pair = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(pair.size() + 1, body.size()));
    if (pair.substr(0, pair.find('=')) != kField) continue;
    const auto value =
        protocol::percent_decode(pair.substr(std::min(kField.size() + 1, pair.size())), protocol::Plus::is_space);
    return value ? std::string{trimmed(*value)} : std::string{};
  }
  return {};
}

}  // namespace skiff::container::console
