#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "container/kube/api_presence.hpp"
#include "container/kube/client.hpp"
#include "container/kube/mirror.hpp"
#include "container/sandbox/driver.hpp"
#include "container/sandbox/freshness.hpp"

namespace skiff::container {

/// Beginning of the groups of Pods that servers have taken from pools (labels::kTakenBy). No pool has such a name.
inline constexpr std::string_view kTakers = "by/";
/// The group of the Pods that are on their way to being ready, unless something keeps them from it.
inline constexpr std::string_view kStarting = "starting/";
/// Beginning of the groups of the Pods on a node.
inline constexpr std::string_view kOnNode = "on/";

/// Copies of skiff's Pods and ConfigMaps in a namespace, for a server: it reads the same objects again and again, and
/// its requests to sandboxes must go on while the API server is away. Reactor thread only.
class WatchedObjects {
 public:
  /// How long a copy is used without a sign from the API server that it is current.
  static constexpr std::chrono::milliseconds kCertain{1'000};

  /// `client` and `presence` must outlive it.
  WatchedObjects(kube::Client* client, kube::ApiPresence* presence, Executor executor, std::string namespace_name);
  /// Ends the watches. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] const kube::Mirror& pods() const noexcept { return pods_; }
  [[nodiscard]] const kube::Mirror& config_maps() const noexcept { return config_maps_; }

  [[nodiscard]] bool is_complete() const noexcept { return pods_.is_complete() && config_maps_.is_complete(); }

  /// Waits, at most until then, for the first complete copies; not for what this caller may not watch.
  [[nodiscard]] Task<> await_first(SteadyTime until);

  /// Asks the API server. If that does not answer, the copy does, soon. An object that is not in the copy may exist:
  /// then nothing but the API server can answer, so it has more time, and its failure is the result.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read(kube::Resource resource, std::string namespace_name,
                                                       std::string name);
  /// The copy, if it is certain that it was right within `kCertain`; else like `read`.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read_recent(kube::Resource resource, std::string namespace_name,
                                                              std::string name);
  /// The copy, however old it is; else like `read`.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read_known(kube::Resource resource, std::string namespace_name,
                                                             std::string name);
  /// Calls `changed` after each event, while the result exists. It sees all once the copies are complete.
  [[nodiscard]] std::unique_ptr<ListWatch> watch(std::function<void()> changed);
  /// Takes over an answer of the API server.
  void note(const kube::Resource& resource, const kube::Object& object);
  /// The object was deleted by this process.
  void note_removed(const kube::Resource& resource, const std::string& namespace_name, std::string_view name,
                    std::string_view uid);

  /// See Driver::freshness: while both objects are as they are in the copies now. `pod` is the Pod's name.
  [[nodiscard]] std::unique_ptr<Freshness> freshness(std::string config_map, std::string pod) const;

 private:
  class Unchanged;
  class Listener;

  [[nodiscard]] Task<bool> first_copies();
  [[nodiscard]] kube::Mirror* copy_of(const kube::Resource& resource, const std::string& namespace_name);

  kube::ApiPresence* presence_;
  std::string namespace_name_;
  Event read_;  ///< notified when a copy is complete, or cannot be
  kube::Mirror pods_;
  kube::Mirror config_maps_;
  std::list<std::function<void()>> listeners_;
  TaskGroup tasks_;
};

}  // namespace skiff::container
