#pragma once

#include <string>

#include "base/error.hpp"
#include "protocol/http/exchange.hpp"
#include "runtime/auth/browser_guard.hpp"

/// What every request's head is asked, in whatever protocol the request is.
namespace skiff::runtime::api {

/// The client's X-Request-Id if it is one that logs can hold: 1 to 128 visible ASCII characters; else a new one.
[[nodiscard]] std::string request_id_of(const protocol::Headers& headers);

/// Host alone. Errors: host_not_allowed.
[[nodiscard]] Result<> check_host(const BrowserGuard& guard, const protocol::HttpExchange& http);

/// Host and Origin: what a browser would give away about a page that has no business here. Errors: host_not_allowed,
/// origin_not_allowed.
[[nodiscard]] Result<> check_browser(const BrowserGuard& guard, const protocol::HttpExchange& http);

/// Whether the body is what its type says, and not packed once more (RFC 9110, 8.4): nobody here would unpack it.
/// Errors: unsupported_media_type.
[[nodiscard]] Result<> check_coding(const protocol::HttpRequest& request);

/// Lets the page that asks read the answer, whichever it is, if its origin is listed (Fetch, 3.2: CORS). False if not.
bool let_page_read(const BrowserGuard& guard, protocol::HttpExchange& http);

/// Whether a browser asks if a page may send something: it shows no credential then.
[[nodiscard]] bool is_preflight(const protocol::HttpRequest& request);

/// The answer to that for a page that may read: it says nothing of what there is.
[[nodiscard]] protocol::HttpResponse preflight_answer(const protocol::HttpRequest& request);

}  // namespace skiff::runtime::api
