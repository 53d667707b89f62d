#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// The record of a sandbox, which exists even while the sandbox is stopped: a ConfigMap, which owns the other objects.
struct PodRecord {
  SandboxSpec spec = {};
  std::string id = {};
  std::string namespace_name = {};  ///< namespace of its objects: with --namespace-per-sandbox not the record's
  std::string pod = {};             ///< name of the Pod; a Pod from a pool has another name than the record
  std::string pod_uid = {};         ///< uid of the last Pod that was up; empty: read the Pod
  std::string node = {};            ///< node of that Pod
  std::string started_at = {};      ///< RFC 3339: when the Pod began to run there
  std::string service_uid = {};     ///< uid of its Service, likewise
  std::string start = {};           ///< mark of the last `start` (creation_mark.hpp); empty: none
  bool stopped = false;
  bool was_up = false;  ///< it was up since its last creation or start, so a missing Pod is gone
  /// How the previous Pod ended, if files outside of volumes were lost with it; else empty.
  std::string lost_with = {};
  std::optional<std::string> begun_at = {};    ///< RFC 3339: time of the last start; empty: since its creation
  std::optional<std::string> expires_at = {};  ///< RFC 3339
};

/// The end of a lease that begins at the latest after `wait`; nullopt for a lease without an end.
[[nodiscard]] std::optional<std::string> lease_end_text(const Lease& lease, std::chrono::milliseconds wait = {});

/// The ConfigMap of a record. `name` is the ConfigMap's name.
[[nodiscard]] kube::Object create_record(const PodRecord& record, const std::string& namespace_name,
                                         const std::string& name);
/// `invalid_field` if the record is damaged.
[[nodiscard]] Result<PodRecord> read_record(const kube::Object& config_map);

/// The field of a record with its seal.
inline constexpr const char* kSeal = "seal";
/// The text that is sealed (agent/seal.hpp) with the key of the agent when a sandbox is up: which Pod it has. Who may
/// write ConfigMaps, but has no key, cannot lead a command into another sandbox.
[[nodiscard]] std::string text_to_seal(const PodRecord& record, const kube::Object& config_map);
/// The Pod of which a sealed record tells: its names, its labels, its agent's port and key, and no state.
[[nodiscard]] kube::Object recorded_pod(const PodRecord& record, const std::string& public_key);

/// Describes a Pod without a record as a sandbox.
[[nodiscard]] Sandbox describe_pod(const kube::Object& pod);
/// Describes a sandbox by its record and by the description of its Pod alone; null: there is no Pod. `now` is the API
/// server's time, like the times in objects.
[[nodiscard]] Sandbox describe(const PodRecord& record, const kube::Object& config_map, const Sandbox* pod,
                               WallTime now);
/// Describes a sandbox whose Pod cannot be read by its record, with the reason.
[[nodiscard]] Sandbox describe_unseen(const PodRecord& record, const kube::Object& config_map, const Error& why);
/// Describes a sandbox whose record cannot be read, with the reason.
[[nodiscard]] Sandbox describe_damaged(const kube::Object& config_map, const Error& damage);

}  // namespace skiff::container
