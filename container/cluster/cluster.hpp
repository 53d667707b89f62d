#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/cluster/watched_objects.hpp"
#include "container/kube/api_presence.hpp"
#include "container/kube/client.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

struct ClusterOptions {
  kube::AccessOptions access = {};
  std::string name_prefix = "skiff-";
  std::string default_image{kDefaultImage};
  std::string agent_image = {};  ///< image with skiffd for specs that name none; no image is published
  /// Longest time for which signing keys are used without reading them again. Another process may have created a new
  /// key, and removed unused ones.
  std::chrono::milliseconds key_age{1000};
  kube::TransportOptions transport = {};
};

/// Fills in the images that a spec does not name. `missing_field` if skiffd has to come from an image and none is set.
[[nodiscard]] Result<> fill_in_images(SandboxSpec& spec, const std::string& default_image,
                                      const std::string& agent_image);

/// One namespace of one cluster, for the drivers that work in it. It must outlive them and their endpoints.
class Cluster {
 public:
  /// Finds the cluster and opens its client; sends nothing. `not_found` if no cluster is configured anywhere.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> open(Executor executor, ClusterOptions options);

  [[nodiscard]] kube::Client& client() noexcept { return client_; }
  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const std::string& namespace_name() const noexcept { return client_.default_namespace(); }
  [[nodiscard]] const ClusterOptions& options() const noexcept { return options_; }
  /// Resolves names of hosts on another thread than the reactor's.
  [[nodiscard]] const protocol::Resolver& resolver() const noexcept { return resolver_; }
  /// "skiff-NAME": the name of the record and the Pod.
  [[nodiscard]] std::string object_name(std::string_view name) const {
    return options_.name_prefix + std::string{name};
  }

  /// The watch of skiff's Pods in that namespace, which all waiting callers share. It lives as long as this object.
  [[nodiscard]] kube::SharedWatch& pods(const std::string& namespace_name);
  /// The watch for callers that wait for the ends of these Pods: it has only their metadata.
  [[nodiscard]] kube::SharedWatch& ends(const std::string& namespace_name);

  /// From now on reads do not wait long for an API server that is away. Objects of this kind are asked for to find out
  /// whether it is back. Call `close` before the object is destroyed.
  void watch_presence(kube::Resource resource);
  /// Does the same, and keeps copies of the namespace's Pods and ConfigMaps. The signing keys are read now, so that
  /// running sandboxes can be reached though the API server goes away before the first of them was.
  void watch_objects();
  /// Null: nothing is watched.
  [[nodiscard]] WatchedObjects* watched() noexcept { return watched_.get(); }
  [[nodiscard]] Task<> close();
  enum class Reading : std::uint8_t {
    now,     ///< what the API server answers; a copy only if it does not answer
    recent,  ///< a copy that was right a second ago will do
    known,   ///< any copy will do
  };
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read(kube::Resource resource, std::string namespace_name,
                                                       std::string name, Reading reading = Reading::now);
  /// Passes the answer to a change on to the copies.
  void note(const kube::Resource& resource, const kube::Object& object);
  void note_removed(const kube::Resource& resource, const std::string& namespace_name, std::string_view name,
                    std::string_view uid);
  /// `cluster_unavailable` if the API server is away, as far as that is known without waiting long.
  [[nodiscard]] Task<Result<>> check_answers();
  /// True if the API server may be away: do not wait for what can be left out.
  [[nodiscard]] bool is_in_doubt() const noexcept { return presence_ && presence_->is_in_doubt(); }
  /// The API server has left a request unanswered.
  void doubt();

  /// Fills in images from the options. It sends no request, so call it first.
  [[nodiscard]] Result<> fill_in_images(SandboxSpec& spec) const;
  /// True if the namespace itself chooses the uid and gid of its Pods (OpenShift). False without the right to read
  /// namespaces.
  [[nodiscard]] Task<bool> assigns_ids();

  /// The key for new objects, from the namespace's Secret `skiff-signing-key`. With `create`, the Secret is created if
  /// it does not exist. Otherwise a missing Secret is an error, because no agent can know the key then.
  [[nodiscard]] Task<Result<SigningKey>> signing_key(bool create);
  /// The key that the agent of that Pod was configured with, which may be an older one of that Secret.
  [[nodiscard]] Task<Result<SigningKey>> signing_key_of(kube::Object pod);
  /// All keys of that Secret, as they were last read.
  [[nodiscard]] Task<Result<SigningKeys>> signing_keys();

 private:
  Cluster(Executor executor, ClusterOptions options, protocol::Resolver resolver,
          std::unique_ptr<kube::Transport> transport);

  [[nodiscard]] Task<Result<>> read_keys(bool create);
  static Task<> read_first_keys(Cluster* self);

  Executor executor_;
  ClusterOptions options_;
  protocol::Resolver resolver_;
  kube::Client client_;
  std::map<std::string, kube::SharedWatch> pods_;
  std::map<std::string, kube::SharedWatch> ends_;
  std::unique_ptr<kube::ApiPresence> presence_;
  std::unique_ptr<WatchedObjects> watched_;
  std::optional<bool> assigns_ids_;
  std::optional<SigningKeys> keys_;
  SteadyTime keys_read_at_{};  ///< when the last read began
  std::size_t key_reads_ = 0;  ///< because they were old; right now
  TaskGroup tasks_;
};

}  // namespace skiff::container
