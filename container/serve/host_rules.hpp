#pragma once

#include "base/error.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/fleet.hpp"

/// In what the hosts of sandboxes differ for a server: what one of them can't do is `not_supported`, and said before
/// anything is made.
namespace skiff::container::serve {

/// Its Pod is made from a template of the cluster (agent-sandbox's), of which the server knows no more than the name.
[[nodiscard]] bool is_claimed(const Driver& driver, const SandboxSpec& spec);

/// What nobody needs any more goes within two seconds, where the server has a say in it.
[[nodiscard]] Removal swift_removal(const Driver& driver);

/// Whether the driver can end a sandbox as a client wants it.
[[nodiscard]] Result<> check_removal(const Driver& driver, const Removal& how);
/// Whether it can make what a client wants of this template.
[[nodiscard]] Result<> check_wish(const Driver& driver, const SandboxSpec& spec, const Wish& wish);

}  // namespace skiff::container::serve
