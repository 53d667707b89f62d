#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "container/cluster/egress/objects.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/sandbox.hpp"

/// The parts of a sandbox's Pod by which it has egress by name. Without that they change nothing.
namespace skiff::container {

/// The settings of its agent, and the variables by which programs find what they have to trust for its secrets.
void add_egress_variables(const SandboxSpec& spec, const EgressAccess& access,
                          std::map<std::string, std::string>& environment);

/// The place of the certificates, if it has secrets.
void add_egress_volume(const SandboxSpec& spec, nlohmann::json& volumes, nlohmann::json& mounts);

/// Its annotations, and that nobody answers it for names: the proxy looks them up. The Pod has its spec already.
void put_egress(const SandboxSpec& spec, const EgressAccess& access, kube::Object& pod);

}  // namespace skiff::container
