#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/drivers/pods/record.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/driver.hpp"

/// A sandbox in the cluster: a record, a Pod, or both.
namespace skiff::container {

struct KnownPod {
  std::optional<kube::Object> config_map = {};  ///< empty for a sandbox of one run
  std::optional<PodRecord> record = {};
  std::optional<kube::Object> pod = {};      ///< empty if the sandbox is stopped, or its Pod was deleted
  std::optional<kube::Object> service = {};  ///< if it was read
  std::optional<PodEnd> end = {};            ///< how a Pod that is gone has ended, if an event still says it
  std::optional<Error> damage = {};          ///< why the record cannot be read
  bool is_bound = false;                     ///< it was taken from a pool just now, and its agent has answered
  bool is_sealed = false;                    ///< the Pod is what the record vouches for, and was not read
  WallTime seen_at = wall_now();             ///< by the API server's clock, like the objects' times
};

/// True if it is being created with a Pod from a pool, which has a name of its own, or was when its creator was killed.
[[nodiscard]] bool is_being_taken(const KnownPod& known);
/// Finds a sandbox. `sandbox_not_found`, or an error of the cluster.
[[nodiscard]] Task<Result<KnownPod>> find_sandbox(Cluster* cluster, std::string name,
                                                  Cluster::Reading reading = Cluster::Reading::now);
/// Like `find_sandbox`, but does not read the Pod of a sandbox that was up if its record is sealed
/// (record.hpp). Look again if that Pod does not answer.
[[nodiscard]] Task<Result<KnownPod>> find_sealed(Cluster* cluster, std::string name);
/// Finds the record without reading its Pod, or a Pod without a record. Objects with another prefix of names are found
/// by their labels: the sandbox with this id, or the only one if `id` is empty; `sandbox_conflict` if there are
/// several.
[[nodiscard]] Task<Result<KnownPod>> find_to_remove(Cluster* cluster, std::string name, std::string id);
/// Reads the sandbox's Pod, whatever the record says about it.
[[nodiscard]] Task<Result<std::optional<kube::Object>>> find_pod(Cluster* cluster, std::string namespace_name,
                                                                 std::string pod, std::string id);
[[nodiscard]] Sandbox describe_known(const KnownPod& known);
/// How the Pod ended, if files outside of volumes were lost with it and nobody has stopped the sandbox; else empty.
[[nodiscard]] std::string loss_of(const KnownPod& known);

/// Merges `data` into the record's data if it is still the same record; null removes a member.
[[nodiscard]] Task<Result<kube::Object>> change_record(Cluster* cluster, const KnownPod* known, nlohmann::json data);

/// Notes in the record and in `known` that the sandbox is up, its objects, and the end of its lease (`expires_at`).
[[nodiscard]] Task<Result<>> note_up(Cluster* cluster, KnownPod* known, std::optional<std::string> expires_at);

/// Like `note_up`. False if the record has changed since it was read, or if the answer was lost.
[[nodiscard]] Task<Result<bool>> note_up_as_seen(Cluster* cluster, KnownPod* known,
                                                 std::optional<std::string> expires_at);

/// Like `change_record`, but only if the record has not changed since it was read. nullopt if it has changed or was
/// replaced, or if the answer was lost: read it again.
[[nodiscard]] Task<Result<std::optional<kube::Object>>> change_record_as_seen(Cluster* cluster, const KnownPod* known,
                                                                              nlohmann::json data);

/// Changes spec and lease with `change`, applied to their current state: concurrent changes do not overwrite each
/// other. `sandbox_not_found` if the record was removed.
[[nodiscard]] Task<Result<KnownPod>> change_spec(Cluster* cluster, KnownPod known,
                                                 std::function<void(PodRecord& record)> change);

/// Sets one of the user's labels, on the record and on its Pod.
[[nodiscard]] Task<Result<>> change_label(Cluster* cluster, KnownPod known, std::string label, std::string value);

/// Reads all Pods and records and returns a page of the filter's size.
[[nodiscard]] Task<Result<SandboxPage>> list_sandboxes(Cluster* cluster, SandboxFilter filter);

}  // namespace skiff::container
