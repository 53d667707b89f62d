#pragma once

#include "base/error.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/fleet/fleet.hpp"

/// The differences of sandbox hosts for a server. A request that a host does not support fails with `not_supported`
/// before anything is created.
namespace skiff::container::serve {

/// True if its Pod is created from a template of agent-sandbox, of which the server knows only the name.
[[nodiscard]] bool is_claimed(const Driver& driver, const SandboxSpec& spec);

/// A removal with a grace of two seconds, if the server decides the grace.
[[nodiscard]] Removal swift_removal(const Driver& driver);

/// True if sandboxes from this template may have egress by name: the driver offers it, and the template names no
/// narrower network.
[[nodiscard]] bool may_have_egress(const Driver& driver, const SandboxSpec& spec);
/// True if the template gives its sandboxes the whole network.
[[nodiscard]] bool is_open(const Driver& driver, const SandboxSpec& spec);

/// Checks that the driver can end a sandbox in this way.
[[nodiscard]] Result<> check_removal(const Driver& driver, const Removal& how);
/// Checks that the driver can create the wanted sandbox from this template.
[[nodiscard]] Result<> check_request(const Driver& driver, const SandboxSpec& spec, const CreateRequest& request);

}  // namespace skiff::container::serve
