#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/signing_key.hpp"
#include "container/kube/client.hpp"
#include "container/kube/shared_watch.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

struct ClusterOptions {
  kube::AccessOptions access = {};
  std::string name_prefix = "skiff-";
  std::string default_image = "python:3.12-slim";
  std::string agent_image = {};  ///< where skiffd comes from when a spec does not say; none is published
  /// How old what is known of the signing keys may be when something is made with them. Another process may have made
  /// a new one, and removed those that nothing knew.
  std::chrono::milliseconds key_age{1000};
  kube::TransportOptions transport = {};
};

/// The images that a spec does not name. `missing_field` when skiffd comes from an image and nobody has said from
/// which.
[[nodiscard]] Result<> fill_in_images(SandboxSpec& spec, const std::string& default_image,
                                      const std::string& agent_image);

/// One namespace of one cluster, as the drivers that live there see it. It must outlive what they make.
class Cluster {
 public:
  /// Finds the cluster and opens its client; nothing is sent. `not_found` when none is configured anywhere.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> open(Executor executor, ClusterOptions options);

  [[nodiscard]] kube::Client& client() noexcept { return client_; }
  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const std::string& namespace_name() const noexcept { return client_.default_namespace(); }
  [[nodiscard]] const ClusterOptions& options() const noexcept { return options_; }
  /// Names of hosts, off the reactor.
  [[nodiscard]] const protocol::Resolver& resolver() const noexcept { return resolver_; }
  /// "skiff-NAME": of the record and the Pod.
  [[nodiscard]] std::string object_name(std::string_view name) const {
    return options_.name_prefix + std::string{name};
  }

  /// Tells all who wait for Pods that skiff made in that namespace; it stays for as long as the cluster is open.
  [[nodiscard]] kube::SharedWatch& pods(const std::string& namespace_name);
  /// The same for those who wait for their ends: of the Pods it knows the metadata.
  [[nodiscard]] kube::SharedWatch& ends(const std::string& namespace_name);

  /// The same by its options. It asks nothing of the cluster, so do it first.
  [[nodiscard]] Result<> fill_in_images(SandboxSpec& spec) const;
  /// The namespace chooses the uid and gid of its Pods itself (OpenShift). Who may not look at namespaces is told no.
  [[nodiscard]] Task<bool> assigns_ids();

  /// The key of what is made now: out of one Secret of the namespace, `skiff-signing-key`, made by whoever needs it
  /// first. `create` false: an error when there is none yet, since no agent can know it then.
  [[nodiscard]] Task<Result<SigningKey>> signing_key(bool create);
  /// The key that the agent of that Pod was made with, which may be an older one of that Secret.
  [[nodiscard]] Task<Result<SigningKey>> signing_key_of(kube::Object pod);

 private:
  Cluster(Executor executor, ClusterOptions options, protocol::Resolver resolver,
          std::unique_ptr<kube::Transport> transport);

  [[nodiscard]] Task<Result<>> read_keys(bool create);

  Executor executor_;
  ClusterOptions options_;
  protocol::Resolver resolver_;
  kube::Client client_;
  std::map<std::string, kube::SharedWatch> pods_;
  std::map<std::string, kube::SharedWatch> ends_;
  std::optional<bool> assigns_ids_;
  std::optional<SigningKeys> keys_;
  SteadyTime keys_read_at_{};  ///< when that began
};

}  // namespace skiff::container
