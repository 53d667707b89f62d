#include "runtime/auth/own_fields.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "protocol/http/forward.hpp"

namespace skiff::runtime {
namespace {

constexpr std::string_view kProtocols = "Sec-WebSocket-Protocol";

/// Calls `each` for the offered subprotocols, including those with a token.
template <class Each>
void for_each_protocol(std::string_view offered, Each each) {
  while (!offered.empty()) {
    const std::size_t comma = std::min(offered.find(','), offered.size());
    std::string_view one = offered.substr(0, comma);
    offered.remove_prefix(std::min(comma + 1, offered.size()));
    one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
    one = one.substr(0, one.find_last_not_of(" \t") + 1);
    if (!one.empty()) each(one);
  }
}

/// Whether the token in Authorization is the agent's, although the request's own credential is in another field.
bool is_accepted(std::string_view authorization, Authenticator& who) {
  const auto token = presented_token({.authorization = authorization, .skiff_token = {}, .websocket_protocol = {}});
  if (!token || !*token) return false;
  const auto identity = who.authenticate(**token);
  return identity && !identity->anonymous;
}

bool is_bearer(std::string_view authorization) {
  return protocol::same_text(authorization.substr(0, authorization.find(' ')), "Bearer");
}

}  // namespace

CredentialHeaders credential_headers(const protocol::Headers& headers) {
  return {.authorization = headers.find("Authorization"),
          .skiff_token = headers.find("X-Skiff-Token"),
          .websocket_protocol = headers.find(kProtocols)};
}

bool has_own_field(const CredentialHeaders& headers) {
  bool found = headers.skiff_token.has_value();
  for_each_protocol(headers.websocket_protocol.value_or(std::string_view{}),
                    [&found](std::string_view one) { found = found || one.starts_with(kBearerProtocol); });
  return found;
}

void remove_own_fields(protocol::Headers& fields, Authenticator& who) {
  const CredentialHeaders shown = credential_headers(fields);
  if (shown.authorization && is_bearer(*shown.authorization) &&
      (!has_own_field(shown) || is_accepted(*shown.authorization, who))) {
    fields.remove("Authorization");
  }
  fields.remove("X-Skiff-Token");
  protocol::remove_members(fields, kProtocols, kBearerProtocol);
}

}  // namespace skiff::runtime
