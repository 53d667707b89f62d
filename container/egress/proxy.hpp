#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/policy.hpp"
#include "protocol/http/client.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

/// The egress proxy of one sandbox: each connection begins with `CONNECT HOST:PORT`, and becomes a tunnel if the policy
/// allows it and the TLS in it asks for the same host. Nothing is sent to the server before that. A connection that may
/// not pass is answered and closed. Reactor thread only.
class Proxy {
 public:
  /// Connections at a time.
  static constexpr std::size_t kConnections = 256;

  struct Options {
    std::string sandbox;  ///< its name, for people
    protocol::Resolver resolve;
    std::function<bool(const protocol::Address&)> is_public;
    Audit* audit = nullptr;                         ///< outlives the proxy
    std::chrono::milliseconds first_words{10'000};  ///< for the head of the request, and again for the ClientHello
    std::chrono::milliseconds dial{15'000};         ///< for the look-up and all its connects
  };

  Proxy(Executor executor, Options options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Serves a connection of the sandbox.
  void serve(UniqueFd socket);
  /// Judges by this policy from now on. Connections that it does not allow are cut, also while they are being made.
  /// Returns how many. Before the first call, and without a policy, everything is refused.
  std::size_t replace(std::optional<Policy> policy);
  /// Ends all connections.
  [[nodiscard]] Task<> stop();

 private:
  struct Passage;
  static Task<> run(Proxy* self, protocol::Stream client);
  [[nodiscard]] Task<std::optional<Refusal>> open(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> read_target(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> dial(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> dial_within(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> read_hello(Passage* passage);
  [[nodiscard]] std::optional<Refusal> judge_now(const Passage& passage) const;
  [[nodiscard]] Task<> refuse(Passage* passage, Refusal refusal);

  Executor executor_;
  Options options_;
  std::optional<Policy> policy_;
  protocol::ReceiveBudget budget_;
  std::list<Passage*> passages_;
  TaskGroup tasks_;
};

}  // namespace skiff::container::egress
