#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/pools.hpp"

/// The objects of kubernetes-sigs/agent-sandbox for a sandbox, and the meaning of their status. This file sends no
/// requests. Field names come from its Go types, api/ and extensions/api/ of v0.5.6 (v1beta1) and v0.2.1 (v1alpha1).
namespace skiff::container {

/// The version of its API that the cluster serves. A controller has one version of its own; skiff uses the newest that
/// it knows.
enum class SandboxApi : std::uint8_t { v1beta1, v1alpha1 };
[[nodiscard]] std::string_view version_of(SandboxApi api) noexcept;
[[nodiscard]] kube::Resource at(const kube::Resource& resource, SandboxApi api) noexcept;

/// The source of a claim's sandbox. v1beta1 supports only pools; v1alpha1 needs the template, and accepts a pool, too.
struct ClaimSource {
  std::string pool = {};
  std::string template_name = {};
};

/// A bare Sandbox with the Pod of `create_pod`. At `until` the cluster ends it: it stays as expired, or is deleted if
/// it is for one run.
[[nodiscard]] Result<kube::Object> create_sandbox(const SandboxSpec& spec, const ManifestContext& context,
                                                  SandboxApi api, std::optional<WallTime> until);
/// A claim for a sandbox of a template. At `until` it is deleted with all its objects.
[[nodiscard]] kube::Object create_claim(const SandboxSpec& spec, const ManifestContext& context, SandboxApi api,
                                        const ClaimSource& source, std::optional<WallTime> until);
/// A template whose Pods run skiffd and accept the tokens of `context.public_key`. They share one text, so each uses
/// its Pod's uid as its id.
[[nodiscard]] Result<kube::Object> create_template(const PoolSpec& pool, const ManifestContext& context,
                                                   SandboxApi api);
/// The policy by which the agents of the template's Pods can be reached; nullopt for an open network. The controller
/// makes one policy for both directions, so the template's own has no ways in: see `create_network_policies`. The name
/// ends in `end`.
[[nodiscard]] Result<std::optional<kube::Object>> create_entrance(const PoolSpec& pool, const ManifestContext& context,
                                                                  std::string_view end);
[[nodiscard]] kube::Object create_warm_pool(const PoolSpec& pool, const ManifestContext& context, SandboxApi api,
                                            const std::string& template_name);

/// Merge patches (RFC 7396) for a Sandbox, and for the object with the lifetime, which is the claim if there is one.
[[nodiscard]] nlohmann::json mode_patch(SandboxApi api, bool runs);
[[nodiscard]] nlohmann::json lifetime_patch(bool is_claim, std::optional<WallTime> until);
/// The patch that stores the spec in the object, for `start` and `extend`.
[[nodiscard]] nlohmann::json spec_patch(const SandboxSpec& spec);
/// The spec that `create_sandbox` or `create_claim` got; for an object of others, the part of it that the labels
/// contain.
[[nodiscard]] SandboxSpec spec_of(const kube::Object& object);

[[nodiscard]] bool is_claim(const kube::Object& object);
/// The NAME of "claim/NAME", which means a claim that skiff did not create; no sandbox of skiff can have such a name.
/// Otherwise nullopt.
[[nodiscard]] std::optional<std::string> foreign_claim_name(std::string_view name);
/// The Sandbox of a claim; empty before it has one.
[[nodiscard]] std::string sandbox_name(const kube::Object& claim);
[[nodiscard]] std::string pod_name(const kube::Object& sandbox);

/// True if a container of the Pod has our agent's settings. A container without them may run it, too.
[[nodiscard]] bool runs_agent(const kube::Object& pod);
/// The id that its agent uses.
[[nodiscard]] std::string agent_id(const kube::Object& pod);

/// What the status of a claim or a Sandbox means.
struct ClaimVerdict {
  SandboxState state = SandboxState::creating;
  std::string reason = {};  ///< why it ended or failed; during the creation, what it waits for
  bool rejected = false;    ///< it was refused: waiting does not help
  bool lost_pod = false;    ///< its Pod has ended; the Pod says how, and the claim does not
};
[[nodiscard]] ClaimVerdict judge_claim(const kube::Object& object);

/// `object` is the claim, or the bare Sandbox.
[[nodiscard]] Sandbox describe_claim(const kube::Object& object);
/// Describes the end of the sandbox by its ended Pod.
void describe_end(Sandbox& sandbox, const kube::Object& pod);

}  // namespace skiff::container
