#pragma once

#include <string_view>

#include "base/clock.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve::e2b {

/// True if a request may be signed, judged without a secret: guessed signatures must not make the server look for the
/// sandbox.
[[nodiscard]] bool may_be_signed(const protocol::HttpRequest& request, WallTime now);

/// True for a request to the agent's /files that E2B's SDKs have signed with the sandbox's access token
/// (`download_url`, `upload_url`): `signature` is "v1_" and the base64, without padding, of the SHA-256 of
/// PATH:OPERATION:USERNAME:TOKEN, with :EXPIRATION behind it where there is one (seconds since 1970), which has not
/// come.
[[nodiscard]] bool is_signed(const protocol::HttpRequest& request, std::string_view access_token, WallTime now);

}  // namespace skiff::container::serve::e2b
