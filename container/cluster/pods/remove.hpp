#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod_wait.hpp"
#include "container/cluster/pods/find.hpp"
#include "container/cluster/remove.hpp"
#include "container/kube/resource.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/driver.hpp"

/// Removes sandboxes, whose records can be written by anybody: see container/cluster/remove.hpp.
namespace skiff::container {

/// An annotation of a namespace that one sandbox has for itself: NAMESPACE/NAME of the record that it belongs to.
inline constexpr std::string_view kRecordOf = "skiff.dev/record";

/// A removal in two parts, so that many need not wait for one another: deleting comes first, and takes a few requests;
/// waiting for the ends takes as long as Pods do, and is done for all of them by one watch.
struct Departure {
  struct Leaving {
    GoneWait wait;
    std::optional<kube::SharedWatch::Reader> news = {};
  };
  std::string namespace_name = {};
  std::string id = {};
  std::vector<Leaving> leaving = {};           ///< deleted, and perhaps still there
  std::vector<kube::Resource> rest = {};       ///< kinds of which some may be left, where the cascade does not reach
  std::optional<GoneWait> record_at_end = {};  ///< a record that stays until all the rest is gone
};

/// Deletes its Pod; record and volumes stay. `is_alone`: no other removal is under way.
[[nodiscard]] Task<Result<Departure>> begin_stop(Cluster* cluster, const KnownPod* known, Removal how, bool is_alone);
/// Deletes all of it: what has the uids that the record tells, and then the record. Where somebody else has removed
/// that already, all is well.
[[nodiscard]] Task<Result<Departure>> begin_removal(Cluster* cluster, const KnownPod* known, Removal how,
                                                    bool is_alone);
/// Waits for the ends, as `how` says, and sees to it that nothing is left.
[[nodiscard]] Task<Result<>> finish_removal(Cluster* cluster, Departure departure, Removal how);

}  // namespace skiff::container
