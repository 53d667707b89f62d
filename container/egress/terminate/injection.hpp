#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/egress/terminate/secret.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::egress {

/// The fields of a request for the server.
struct Injected {
  protocol::Headers fields;
  /// All by which the server could give the secret back: none of them may reach the sandbox.
  std::vector<std::string> traces;
};

/// Puts the secret into its field of a request: whatever the client has sent there, or in the place of its placeholder,
/// also within the pair of Basic. No part of an answer may come alone, and none encoded: the secret
/// could not be found in it.
[[nodiscard]] Injected inject(const Secret& secret, const protocol::HttpRequest& request);

/// Whether the request has this placeholder in a field, also within the pair of Basic, or in its target.
[[nodiscard]] bool has_placeholder(const protocol::HttpRequest& request, std::string_view placeholder);

}  // namespace skiff::container::egress
