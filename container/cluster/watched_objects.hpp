#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/kube/client.hpp"
#include "container/kube/mirror.hpp"
#include "container/sandbox/freshness.hpp"

namespace skiff::container {

/// Copies of skiff's Pods and ConfigMaps in a namespace, for a server: it reads the same objects again and again, and
/// its requests to sandboxes must go on while the API server is away. Reactor thread only.
class WatchedObjects {
 public:
  /// How long a copy is used without a sign from the API server that it is current.
  static constexpr std::chrono::milliseconds kCertain{1'000};
  /// How long a read waits for the API server, if a copy can answer instead.
  static constexpr std::chrono::milliseconds kReadPatience{2'000};
  /// The API server is away if it has answered nothing for this long.
  static constexpr std::chrono::milliseconds kAway{5'000};

  /// `client` must outlive it.
  WatchedObjects(kube::Client* client, Executor executor, std::string namespace_name);
  /// Ends the watches. Call it before the object is destroyed.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] const kube::Mirror& pods() const noexcept { return pods_; }
  [[nodiscard]] const kube::Mirror& config_maps() const noexcept { return config_maps_; }

  [[nodiscard]] bool is_complete() const noexcept { return pods_.is_complete() && config_maps_.is_complete(); }

  /// Asks the API server. If that does not answer, the copy does; an object that is not in the copy may exist, so then
  /// the API server's failure is the result.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read(kube::Resource resource, std::string namespace_name,
                                                       std::string name);
  /// The copy, if it is certain that it was right within `kCertain`; else like `read`.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read_recent(kube::Resource resource, std::string namespace_name,
                                                              std::string name);
  /// The copy, however old it is; else like `read`.
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read_known(kube::Resource resource, std::string namespace_name,
                                                             std::string name);
  /// Takes over an answer of the API server.
  void note(const kube::Resource& resource, const kube::Object& object);
  /// The object was deleted by this process.
  void note_removed(const kube::Resource& resource, const std::string& namespace_name, std::string_view name,
                    std::string_view uid);

  /// `cluster_unavailable` if the API server is away. It is asked only if it has not answered within `kReadPatience`.
  [[nodiscard]] Task<Result<>> check_answers();
  /// It has left a request unanswered: it may be away.
  void doubt();
  /// True if the last question was not answered in time: do not wait for the API server where that can be avoided.
  [[nodiscard]] bool is_in_doubt() const noexcept { return is_in_doubt_; }

  /// See Driver::freshness: while both objects are as they are in the copies now. `pod` is the Pod's name.
  [[nodiscard]] std::unique_ptr<Freshness> freshness(std::string config_map, std::string pod) const;

 private:
  class Unchanged;

  [[nodiscard]] kube::Mirror* copy_of(const kube::Resource& resource, const std::string& namespace_name);
  void begin_asking();
  [[nodiscard]] Task<> ask_until_answered();

  kube::Client* client_;
  std::string namespace_name_;
  kube::Mirror pods_;
  kube::Mirror config_maps_;
  bool is_asking_ = false;
  bool is_in_doubt_ = false;
  bool is_away_ = false;
  Event decided_;  ///< notified when it is known whether the API server is away
  TaskGroup tasks_;
};

}  // namespace skiff::container
