#pragma once

#include <string_view>

#include "protocol/http/message.hpp"

/// A client's credential is not passed on: the server behind the gateway is not trusted.
namespace skiff::container::serve {

/// The cookie with the session of this server's own page (container/console), over https and without.
inline constexpr std::string_view kSecureSessionCookie = "__Host-skiff-session";
inline constexpr std::string_view kSessionCookie = "skiff-session";

/// True if the value contains a text in the form of a credential of this server: an API key, or a service account's
/// token for it. Also fields that the server does not read may contain one.
[[nodiscard]] bool shows_credential(std::string_view value);

/// Removes the fields for credentials, and every other field that contains one; of cookies only those. In names `_`
/// counts as `-`, because a server that passes on fields as variables cannot distinguish them (RFC 3875, 4.1.18). The
/// access token stays only for the dialect that needs it.
void remove_credentials(protocol::Headers& fields, bool keeps_access_token);

/// Removes from an answer the directives that would clear the cookies of other sandboxes below the same domain,
/// including previews': to a browser they are one site (W3C, Clear Site Data, 3.1 and 4.2). Removes cookies that would
/// replace the session of this server's own page.
void keep_cookies_of_others(protocol::Headers& answer);

/// In addition the answer is not a document of the origin in whose name it comes: its scripts do not run (W3C, Content
/// Security Policy, 6.3.2), and nothing else takes it for a script.
void keep_from_running(protocol::Headers& answer);

/// Removes from an answer all fields that change what a browser keeps or does for the whole origin, and those that this
/// server sets itself, so that the answer is data and nothing else.
void keep_to_content(protocol::Headers& answer);

}  // namespace skiff::container::serve
