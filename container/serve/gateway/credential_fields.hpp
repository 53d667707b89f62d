#pragma once

#include <string_view>

#include "protocol/http/message.hpp"

/// A client's credential ends at the gateway: what is behind may be anybody.
namespace skiff::container::serve {

/// Whether something in the value has the form of a credential of this server: an API key, or a token of a service
/// account that was made for it. Whoever sends one in a field that nobody looks at has sent it all the same.
[[nodiscard]] bool shows_credential(std::string_view value);

/// Takes out the fields in which clients show credentials, and every other one that shows one. In names `_` counts as
/// `-`: a server that hands fields on as variables can't tell them apart (RFC 3875, 4.1.18). The access token stays
/// only for the dialect that asks for it.
void remove_credentials(protocol::Headers& fields, bool keeps_access_token);

/// Takes out of an answer what would end the cookies of other sandboxes below the same domain, previews among them:
/// they are one site to a browser (W3C, Clear Site Data, 3.1 and 4.2).
void keep_cookies_of_others(protocol::Headers& answer);

}  // namespace skiff::container::serve
