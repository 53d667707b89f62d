#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/async/fair_semaphore.hpp"
#include "base/async/task.hpp"
#include "base/async/timer.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "container/serve/audit.hpp"
#include "container/serve/authorizer.hpp"
#include "container/serve/fleet/bring_ups.hpp"
#include "container/serve/fleet/fleet.hpp"
#include "container/serve/fleet/followers.hpp"
#include "container/serve/fleet/templates.hpp"
#include "container/serve/fleet/tenants.hpp"
#include "container/serve/gateway/gateway.hpp"
#include "container/serve/keys/key_store.hpp"
#include "container/serve/list/list_feeds.hpp"
#include "container/serve/reactor_delay.hpp"
#include "container/serve/route.hpp"
#include "container/serve/stats.hpp"
#include "container/trace/span_export.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::container::serve {

struct ServiceOptions {
  std::string domain = {};       ///< result of `parse_domain`; empty: sandboxes have no host names
  bool is_local = false;         ///< the driver is local: sandboxes have the size of this machine
  bool behind_proxy = false;     ///< see GatewayOptions
  SpanExport* spans = nullptr;   ///< null: nothing is traced
  AuditLog* audit = nullptr;     ///< null: there is no audit log
  bool for_own_pages = false;    ///< see GatewayOptions
  bool beside_own_page = false;  ///< see GatewayOptions
  std::size_t kept = 1'000;      ///< most descriptors that are kept for the next requests to running sandboxes
};

/// A request of this server's own page, which has shown a session of its key.
struct OwnPage {
  WallTime ends;  ///< the end of the session, and of what it has opened
};

/// The server: answers every request, both for the control of sandboxes and to a sandbox. Its only state are caches and
/// running requests. Reactor thread only; it must outlive its requests.
class Service {
 public:
  /// The arguments must outlive it.
  Service(Executor executor, Tenants* tenants, KeyStore* keys, Templates templates, ServiceOptions options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Answers one request.
  [[nodiscard]] Task<> answer(protocol::HttpExchange& http, std::optional<OwnPage> page = {});

  /// From now on the server begins no new work, and /readyz reports it.
  void drain();
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  /// Ends all background work. Call it when there are no more requests.
  [[nodiscard]] Task<> stop();
  /// Removes expired sandboxes repeatedly, until `drain`.
  [[nodiscard]] Task<> keep_clean();
  /// End open requests and connections whose credential is gone: an API key within `kBetweenLooks` and the time for
  /// which keys are cached, a service account's token within `kBetweenReviews`.
  [[nodiscard]] Task<> keep_to_keys();
  [[nodiscard]] Task<> keep_to_accounts();
  static constexpr std::chrono::seconds kBetweenLooks{1};
  static constexpr std::chrono::seconds kBetweenReviews{10};
  [[nodiscard]] Task<> keep_pools();
  /// Measures the reactor, for the metrics.
  [[nodiscard]] Task<> measure_reactor() { return reactor_.measure(); }

  [[nodiscard]] Fleet& fleet() noexcept { return fleet_; }
  [[nodiscard]] BringUps& bring_ups() noexcept { return bring_ups_; }
  [[nodiscard]] Followers& followers() noexcept { return followers_; }
  [[nodiscard]] ListFeeds& lists() noexcept { return lists_; }
  [[nodiscard]] KeyCache& keys() noexcept { return keys_; }
  [[nodiscard]] Authorizer& authorizer() noexcept { return authorizer_; }
  [[nodiscard]] FairSemaphore& log_turns() noexcept { return log_turns_; }
  [[nodiscard]] Shares& network_logs() noexcept { return network_logs_; }
  [[nodiscard]] const ServiceOptions& options() const noexcept { return options_; }
  [[nodiscard]] Executor executor() const noexcept { return executor_; }

  /// Sets the function that counts connections, which the caller serves.
  void count_connections(std::function<std::size_t()> count) { connections_ = std::move(count); }
  [[nodiscard]] std::string metrics() const;

 private:
  struct Visit;
  struct Front;

  Executor executor_;
  ServiceOptions options_;
  Templates templates_;
  KeyCache keys_;
  Fleet fleet_;
  BringUps bring_ups_;
  Followers followers_;
  ListFeeds lists_;
  FairSemaphore log_turns_;  ///< turns of tenants to read logs, which may be megabytes
  Shares network_logs_;      ///< streams of tenants
  Authorizer authorizer_;
  Gateway gateway_;
  Stats stats_;
  ReactorDelay reactor_;
  Timer until_next_sweep_;
  std::function<std::size_t()> connections_;
  bool draining_ = false;
};

}  // namespace skiff::container::serve
