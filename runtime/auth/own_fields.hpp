#pragma once

#include "protocol/http/message.hpp"
#include "runtime/auth/credentials.hpp"

namespace skiff::runtime {

/// The fields of a request that may contain a credential.
[[nodiscard]] CredentialHeaders credential_headers(const protocol::Headers& headers);

/// Whether the credential is in a field that only the agent uses: X-Skiff-Token or the subprotocol. When the request is
/// passed on, Authorization is then for the server that gets it.
[[nodiscard]] bool has_own_field(const CredentialHeaders& headers);

/// Removes the agent's credentials from `fields` before they are passed on to another server: X-Skiff-Token, the
/// subprotocol with a token, and Authorization if it has a bearer token that is the agent's, because `has_own_field` is
/// false or `who` accepts it.
void remove_own_fields(protocol::Headers& fields, Authenticator& who);

}  // namespace skiff::runtime
