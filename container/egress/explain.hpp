#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "container/egress/judge.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/terminate/secret.hpp"

namespace skiff::container::egress {

/// What the proxy would say to a client that wants to reach a server.
struct Explanation {
  Target target = {};                   ///< empty if it is none
  std::string rule = {};                ///< allows it
  std::optional<Refusal> refusal = {};  ///< else why not
  std::string secret = {};              ///< name of the secret that requests to this server get
};

/// Judges HOST, HOST:PORT (a tunnel for TLS, to port 443 without one), or an https:// or http:// URL. Of a URL the
/// server alone counts, unless it gets one of the sandbox's `secrets`, whose values are not needed: then the request is
/// judged, a GET without a `method`. No name is looked up, so the addresses are not judged. A policy that is null
/// allows nothing.
[[nodiscard]] Explanation explain(const Policy* policy, std::string_view wanted, std::string_view sandbox,
                                  const std::string& method = {}, std::span<const Secret> secrets = {});

}  // namespace skiff::container::egress
