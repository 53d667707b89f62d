#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/cluster/pod_manifest.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/pools.hpp"

/// The objects of kubernetes-sigs/agent-sandbox that a sandbox is made of, and what their status means. Nothing here
/// talks to the API server. Field names: its Go types, api/ and extensions/api/ of v0.5.6 (v1beta1) and v0.2.1
/// (v1alpha1).
namespace skiff::container {

/// What a cluster serves of it; a controller has one that is its own, and skiff takes the newer of those it knows.
enum class SandboxApi : std::uint8_t { v1beta1, v1alpha1 };
[[nodiscard]] std::string_view version_of(SandboxApi api) noexcept;
[[nodiscard]] kube::Resource at(const kube::Resource& resource, SandboxApi api) noexcept;

/// Where a claim gets its sandbox from. v1beta1 knows only pools; v1alpha1 wants the template, and takes a pool too.
struct ClaimSource {
  std::string pool = {};
  std::string template_name = {};
};

/// A bare Sandbox with the Pod that `make_pod` makes. `until`: the cluster ends it then; it stays as expired, or is
/// deleted if it is for one run.
[[nodiscard]] Result<kube::Object> make_sandbox(const SandboxSpec& spec, const ManifestContext& context, SandboxApi api,
                                                std::optional<WallTime> until);
/// A claim for a sandbox of somebody's template. At `until` it is deleted with all that belongs to it.
[[nodiscard]] kube::Object make_claim(const SandboxSpec& spec, const ManifestContext& context, SandboxApi api,
                                      const ClaimSource& source, std::optional<WallTime> until);
/// A template whose Pods run skiffd and accept the tokens of `context.public_key`. They share one text, so each takes
/// its Pod's uid for its id.
[[nodiscard]] Result<kube::Object> make_template(const PoolSpec& pool, const ManifestContext& context, SandboxApi api);
[[nodiscard]] kube::Object make_warm_pool(const PoolSpec& pool, const ManifestContext& context, SandboxApi api,
                                          const std::string& template_name);

/// Merge patches (RFC 7396) for a Sandbox, and for the object that has the lifetime: the claim if there is one.
[[nodiscard]] nlohmann::json mode_patch(SandboxApi api, bool runs);
[[nodiscard]] nlohmann::json lifetime_patch(bool is_claim, std::optional<WallTime> until);
/// The spec as the object keeps it, for `start` and `extend`.
[[nodiscard]] nlohmann::json spec_patch(const SandboxSpec& spec);
/// What `make_sandbox` and `make_claim` were given; as much as the labels tell when it was made by others.
[[nodiscard]] SandboxSpec spec_of(const kube::Object& object);

[[nodiscard]] bool is_claim(const kube::Object& object);
/// A claim that skiff did not make is known as "claim/NAME", which nothing of ours can be called: NAME, or nothing.
[[nodiscard]] std::optional<std::string> foreign_claim_name(std::string_view name);
/// The Sandbox of a claim; empty before it has one.
[[nodiscard]] std::string sandbox_name(const kube::Object& claim);
[[nodiscard]] std::string pod_name(const kube::Object& sandbox);

/// The Pod has a container that was told how to be our agent. One that has not may still run it.
[[nodiscard]] bool runs_agent(const kube::Object& pod);
/// The id that its agent takes for its own.
[[nodiscard]] std::string agent_id(const kube::Object& pod);

/// What the status of a claim or a Sandbox means.
struct ClaimVerdict {
  SandboxState state = SandboxState::creating;
  std::string reason = {};  ///< why it ended or failed; while it is made what it waits for
  bool rejected = false;    ///< it was refused: no waiting mends it
  bool lost_pod = false;    ///< its Pod has ended: that says how, and the claim does not
};
[[nodiscard]] ClaimVerdict judge_claim(const kube::Object& object);

/// `object` is the claim, or the bare Sandbox.
[[nodiscard]] Sandbox describe_claim(const kube::Object& object);
/// The same when its Pod has ended, by what that says.
void describe_end(Sandbox& sandbox, const kube::Object& pod);

}  // namespace skiff::container
