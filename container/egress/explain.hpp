#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "container/egress/judge.hpp"
#include "container/egress/policy.hpp"

namespace skiff::container::egress {

/// What the proxy would say to a client that wants to reach a server.
struct Explanation {
  Target target = {};                   ///< empty if it is none
  std::string rule = {};                ///< allows it
  std::optional<Refusal> refusal = {};  ///< else why not
  std::string remedy = {};              ///< a rule that would allow it; empty if none does
};

/// Judges HOST, HOST:PORT (a tunnel for TLS, to port 443 without one), or an https:// or http:// URL, of which the
/// server alone counts. No name is looked up, so the addresses are not judged. A policy that is null allows nothing.
[[nodiscard]] Explanation explain(const Policy* policy, std::string_view wanted, std::string_view sandbox);

}  // namespace skiff::container::egress
