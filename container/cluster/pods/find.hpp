#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod_end.hpp"
#include "container/cluster/pods/record.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/driver.hpp"

/// Sandboxes as a cluster has them: a record, a Pod, or both.
namespace skiff::container {

struct KnownPod {
  std::optional<kube::Object> config_map = {};  ///< none for one run
  std::optional<PodRecord> record = {};
  std::optional<kube::Object> pod = {};      ///< none for one that is stopped, or whose Pod was deleted
  std::optional<kube::Object> service = {};  ///< where somebody has looked at it
  std::optional<PodEnd> end = {};            ///< of a Pod that is gone, where an event still tells
  std::optional<Error> damage = {};          ///< why the record can't be read
  WallTime seen_at = wall_now();             ///< by the clock of the API server, as its times are
};

/// `sandbox_not_found`, or why the cluster can't be asked.
[[nodiscard]] Task<Result<KnownPod>> find_sandbox(Cluster* cluster, std::string name);
/// The record alone, without a look at its Pod, or the Pod that has none. Where objects have been made with another
/// prefix of names they are found by their labels: the one that has this id, or the only one where it is empty;
/// `sandbox_conflict` when there are several.
[[nodiscard]] Task<Result<KnownPod>> find_to_remove(Cluster* cluster, std::string name, std::string id);
/// Its Pod, as it is now, whatever the record says of it.
[[nodiscard]] Task<Result<std::optional<kube::Object>>> find_pod(Cluster* cluster, std::string namespace_name,
                                                                 std::string pod, std::string id);
[[nodiscard]] Sandbox describe_known(const KnownPod& known);
/// How its Pod ended, where files went along that no volume keeps and nobody has stopped it, who knows that; else
/// empty.
[[nodiscard]] std::string loss_of(const KnownPod& known);

/// Merges `data` into that of the record, if it is still the same record; null removes.
[[nodiscard]] Task<Result<kube::Object>> change_record(Cluster* cluster, const KnownPod* known, nlohmann::json data);

/// Notes in the record, and in `known`, that the sandbox is up, and by which objects; `expires_at`: the end of its
/// lease.
[[nodiscard]] Task<Result<>> note_up(Cluster* cluster, KnownPod* known, std::optional<std::string> expires_at);

/// The same while it is as it was seen. Nothing when somebody has changed it since, or made another one of that name,
/// or when the answer was lost: look again.
[[nodiscard]] Task<Result<std::optional<kube::Object>>> change_record_as_seen(Cluster* cluster, const KnownPod* known,
                                                                              nlohmann::json data);

/// Changes spec and lease with `change`, as they are when they are written: of two who do so at once neither undoes the
/// other's. `sandbox_not_found` when the record is no more.
[[nodiscard]] Task<Result<KnownPod>> change_spec(Cluster* cluster, KnownPod known,
                                                 std::function<void(PodRecord& record)> change);

/// Sets one of the user's labels, on the record and on its Pod.
[[nodiscard]] Task<Result<>> change_label(Cluster* cluster, KnownPod known, std::string label, std::string value);

/// Reads all Pods and records and gives a page of the filter's size.
[[nodiscard]] Task<Result<SandboxPage>> list_sandboxes(Cluster* cluster, SandboxFilter filter);

}  // namespace skiff::container
