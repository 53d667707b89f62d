#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "container/egress/cluster/pod_audit.hpp"
#include "container/egress/cluster/proxy_stats.hpp"
#include "container/egress/cluster/seen_pods.hpp"
#include "container/egress/cluster/seen_secrets.hpp"
#include "container/egress/cluster/token_check.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/proxy.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::egress {

/// The egress proxy of all sandboxes in a namespace. A connection belongs to the sandbox whose Pod has its source
/// address, if it begins with that sandbox's token. Each has a Proxy of its own, with the rules of its Pod's
/// annotation. Reactor thread only.
class ClusterProxy {
 public:
  /// Connections that have not said who they are, in all and of one address.
  static constexpr std::size_t kUnknown = 1024;
  static constexpr std::size_t kUnknownOfOne = 64;
  /// Look-ups of one Pod at a time.
  static constexpr std::size_t kLookUps = 4;
  /// Bytes of slow receivers, of all Pods together.
  static constexpr std::size_t kHeld = std::size_t{64} << 20U;

  struct Options {
    protocol::Resolver resolve;
    std::function<bool(const protocol::Address&)> is_public;
    std::function<Result<std::string>()> public_keys;  ///< PEM, at present
    LineSink log;
    std::chrono::milliseconds first_words{10'000};  ///< for the first line
    std::chrono::milliseconds news{2'000};          ///< until the watch tells of a Pod that already connects
  };

  ClusterProxy(Executor executor, Options options);
  ~ClusterProxy();
  ClusterProxy(const ClusterProxy&) = delete;
  ClusterProxy& operator=(const ClusterProxy&) = delete;

  /// Takes over what the watch says of a Pod. Connections that its rules no longer allow are cut, and all of a Pod that
  /// may not be served any more.
  void put(const kube::Object& pod);
  void erase(std::string_view name);
  /// Erases all Pods but these.
  void keep(const std::set<std::string>& names);

  /// The secrets that Pods may have. What changes here counts from the next request on.
  [[nodiscard]] SeenSecrets& secrets() noexcept { return secrets_; }

  /// Serves a connection.
  void serve(UniqueFd socket, const protocol::Address& peer);
  /// A connection to the canary has come: no fence holds that Pod, so it is refused from now on. Before the Pod
  /// is ready, or its first token comes, its agent waits for the fence by such connections.
  void note_canary(const protocol::Address& peer);
  /// The metrics in the text format of Prometheus.
  [[nodiscard]] std::string metrics() const;
  /// Ends all connections.
  [[nodiscard]] Task<> stop();

 private:
  struct Member;
  struct Waiting;
  void retire(std::string_view uid);
  [[nodiscard]] static Task<> end(std::shared_ptr<Member> member);
  [[nodiscard]] static Task<> admit(ClusterProxy* self, UniqueFd socket, std::string address);
  [[nodiscard]] Task<> await_pod(const std::string* address);
  /// The Pod that has this address and this token; else why not.
  [[nodiscard]] std::optional<Refusal> identify(std::string_view address, std::string_view token,
                                                std::shared_ptr<Member>* member);
  [[nodiscard]] Task<> refuse(UniqueFd socket, std::string address, Refusal refusal);

  Executor executor_;
  Options options_;
  TokenCheck tokens_;
  ProxyStats stats_;
  Room room_{kHeld};
  SeenPods pods_;
  SeenSecrets secrets_;
  std::map<std::string, std::shared_ptr<Member>, std::less<>> members_;  ///< by uid
  std::size_t unknown_ = 0;
  std::map<std::string, std::size_t> unknown_of_;  ///< by address
  LineLimit unknown_lines_;
  Event changed_;
  TaskGroup tasks_;
};

}  // namespace skiff::container::egress
