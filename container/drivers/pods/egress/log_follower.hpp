#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/pods/find.hpp"

namespace skiff::container {

/// True for a line of the proxy's log that is about the sandbox with this id.
[[nodiscard]] bool is_about(std::string_view line, std::string_view id);

/// Follows the logs of all Pods that the egress proxy of a namespace has, and gets, for one sandbox. Reactor thread
/// only.
class LogFollower {
 public:
  /// `take` gets a line with its end.
  LogFollower(Cluster* cluster, const KnownPod& known, std::function<Result<>(std::string_view line)> take);

  /// Runs until the sandbox is removed, `take` fails, or the cluster refuses.
  [[nodiscard]] Task<Result<>> run();

 private:
  static Task<> watch_proxies(LogFollower* self);
  static Task<> watch_record(LogFollower* self);
  static Task<> follow_one(LogFollower* self, std::string pod);
  [[nodiscard]] Task<> until_ended();
  void end_with(Result<> result);

  Cluster* cluster_;
  std::string tenant_;
  std::string home_;  ///< namespace of the proxy
  std::string id_;
  std::function<Result<>(std::string_view line)> take_;
  std::set<std::string> followed_;
  std::optional<Result<>> result_;
  Event ended_;
  TaskGroup tasks_;
};

}  // namespace skiff::container
