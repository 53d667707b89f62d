#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/fair_turnstile.hpp"
#include "base/task.hpp"
#include "base/timer.hpp"
#include "container/serve/bring_ups.hpp"
#include "container/serve/door.hpp"
#include "container/serve/fleet.hpp"
#include "container/serve/followers.hpp"
#include "container/serve/gateway/gateway.hpp"
#include "container/serve/key_store.hpp"
#include "container/serve/route.hpp"
#include "container/serve/stats.hpp"
#include "container/serve/templates.hpp"
#include "container/serve/tenants.hpp"
#include "container/trace/span_export.hpp"
#include "protocol/http/exchange.hpp"

namespace skiff::container::serve {

struct ServiceOptions {
  std::string domain = {};      ///< as `parse_domain` gives it; empty: no sandbox has a name of its own
  bool is_local = false;        ///< the driver is: sandboxes have the size of this machine
  bool behind_proxy = false;    ///< see GatewayOptions
  SpanExport* spans = nullptr;  ///< null: nothing is traced
  std::size_t kept = 1'000;     ///< descriptors, at most, for the next request to each of the sandboxes that run
};

/// Sandboxes by an API key: answers every request, whether it is for the control of sandboxes or to be passed on to
/// one. It has no state but caches, and what is under way. Reactor thread only; it must outlive its requests.
class Service {
 public:
  /// What it is given must outlive it.
  Service(Executor executor, Tenants* tenants, KeyStore* keys, Templates templates, ServiceOptions options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Answers one request.
  [[nodiscard]] Task<> answer(protocol::HttpExchange& http);

  /// From now on nothing new is begun, and /readyz says so.
  void drain();
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  /// Ends what is under way beside the requests. Call it when there are none any more.
  [[nodiscard]] Task<> stop();
  /// Removes what is over, again and again, until `drain`.
  [[nodiscard]] Task<> keep_clean();
  /// Ends what is open when what it hangs on is gone: an API key within `kBetweenLooks` and the time for which keys are
  /// cached, a service account's token within `kBetweenReviews`.
  [[nodiscard]] Task<> keep_to_keys();
  [[nodiscard]] Task<> keep_to_accounts();
  static constexpr std::chrono::seconds kBetweenLooks{1};
  static constexpr std::chrono::seconds kBetweenReviews{10};
  [[nodiscard]] Task<> keep_pools();

  [[nodiscard]] Fleet& fleet() noexcept { return fleet_; }
  [[nodiscard]] BringUps& bring_ups() noexcept { return bring_ups_; }
  [[nodiscard]] Followers& followers() noexcept { return followers_; }
  [[nodiscard]] KeyCache& keys() noexcept { return keys_; }
  [[nodiscard]] Door& door() noexcept { return door_; }
  [[nodiscard]] FairTurnstile& log_turns() noexcept { return log_turns_; }
  [[nodiscard]] const ServiceOptions& options() const noexcept { return options_; }
  [[nodiscard]] Executor executor() const noexcept { return executor_; }

  /// Connections are counted by whoever serves them.
  void count_connections(std::function<std::size_t()> count) { connections_ = std::move(count); }
  [[nodiscard]] std::string metrics() const { return stats_.text(connections_ ? connections_() : 0); }

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
  FairTurnstile log_turns_;  ///< a tenant's: what an agent tells of a log may be megabytes
  Door door_;
  Gateway gateway_;
  Stats stats_;
  Timer until_next_sweep_;
  std::function<std::size_t()> connections_;
  bool draining_ = false;
};

}  // namespace skiff::container::serve
