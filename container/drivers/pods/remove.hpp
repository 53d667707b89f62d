#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/cluster/remove.hpp"
#include "container/drivers/pods/find.hpp"
#include "container/kube/objects/resource.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/driver.hpp"

/// Removes sandboxes. Other users can write their records: see container/cluster/remove.hpp.
namespace skiff::container {

/// The annotation of a sandbox's own namespace: NAMESPACE/NAME of the record that it belongs to.
inline constexpr std::string_view kRecordOf = "skiff.dev/record";

/// A removal has two parts, so that many removals need not wait for one another. Deleting takes a few requests. Waiting
/// for the ends takes as long as the Pods need, and one watch serves all removals.
struct Departure {
  struct Leaving {
    GoneWait wait;
    std::optional<kube::SharedWatch::Reader> news = {};
  };
  std::string namespace_name = {};
  std::string id = {};
  std::vector<Leaving> leaving = {};           ///< deleted objects that may still exist
  std::vector<kube::Resource> rest = {};       ///< kinds of which objects may remain that the cascade does not delete
  std::optional<GoneWait> record_at_end = {};  ///< the record, if it stays until all other objects are gone
};

/// Deletes the Pod; record and volumes stay. `is_alone`: no other removal is under way.
[[nodiscard]] Task<Result<Departure>> begin_stop(Cluster* cluster, const KnownPod* known, Removal how, bool is_alone);
/// Deletes all objects of the sandbox: those with the record's uids, and then the record. It is not an error if another
/// client has removed them already.
[[nodiscard]] Task<Result<Departure>> begin_removal(Cluster* cluster, const KnownPod* known, Removal how,
                                                    bool is_alone);
/// Waits for the ends, as `how` says, and deletes objects that remain.
[[nodiscard]] Task<Result<>> finish_removal(Cluster* cluster, Departure departure, Removal how);

}  // namespace skiff::container
