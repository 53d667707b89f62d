#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/audit.hpp"
#include "container/serve/fleet/fleet_counts.hpp"
#include "container/serve/fleet/record_labels.hpp"
#include "container/serve/fleet/templates.hpp"
#include "container/serve/fleet/tenants.hpp"
#include "container/serve/keys/admission.hpp"
#include "container/serve/keys/api_key.hpp"
#include "container/serve/keys/key_store.hpp"

namespace skiff::container::serve {

/// A client's request for a sandbox.
struct CreateRequest {
  std::string name = {};       ///< id that the client chooses; empty: the server chooses one
  bool get_or_create = false;  ///< use an existing sandbox of that name, and start it unless it runs
  std::string id = {};         ///< result of `Fleet::id_for`; empty: it is called
  std::string template_name{Templates::kBase};
  std::map<std::string, std::string> env = {};  ///< variables in addition to the template's
  Labels labels = {};
  Lease lease = {};
  OnEnd on_end = OnEnd::remove;
  bool is_told_at_once = false;             ///< the client gets the id before the sandbox is up
  bool wakes = true;                        ///< while it sleeps, the next request to it starts it again
  std::optional<std::string> network = {};  ///< value of `PodOptions::network`; empty: the template's
  /// Rules of its egress by name, which may be none; nullopt: the template's network.
  std::optional<std::vector<std::string>> egress = {};
  std::string owner = {};  ///< owner within the tenant
  /// Key that the client chooses: a repeated request with it gets the same sandbox as long as that exists.
  std::string idempotency_key = {};
  std::string request = {};  ///< the whole request, to recognise a different one with the same key
};

/// True for an id in the form of the server's own, which clients may not choose.
[[nodiscard]] bool is_made_id(std::string_view id);

/// A progress function that does nothing.
inline void unwatched(Phase /*phase*/, std::string_view /*detail*/) {}

/// Conditions that a sandbox with an id must fulfil to be removed.
struct RemovalPrecondition {
  std::string uid = {};
  std::optional<SandboxState> state = {};
  std::string idempotency_key = {};  ///< key with which it was created
};

struct Made {
  Sandbox sandbox;
  bool is_new = false;
};

/// A sandbox, and a freshness that shows whether it has changed since it was read.
struct FreshSandbox {
  Sandbox sandbox;
  std::unique_ptr<Freshness> freshness;  ///< may be null, see Driver::freshness
};

/// Called before and after this process changes a sandbox.
using Changes = std::function<void(const std::string& tenant, const std::string& id)>;

/// The sandboxes of all tenants. It stores no state: the drivers' hosts do, so any number of processes may work at the
/// same time. A tenant can see only its own sandboxes; for it, others' sandboxes do not exist. A sandbox is identified
/// by its id, which is its name in the driver.
///
/// Errors beside those of `Driver`: too_many_sandboxes. Reactor thread only.
class Fleet {
 public:
  /// The arguments must outlive it.
  Fleet(Tenants* tenants, KeyCache* keys, const Templates* templates)
      : tenants_{tenants}, keys_{keys}, templates_{templates} {}

  /// The id for the sandbox of this request. `invalid_field` for an invalid name, and for one in the form of the
  /// server's own ids.
  [[nodiscard]] Task<Result<std::string>> id_for(std::string tenant, CreateRequest request);
  /// `not_found` for an unknown template; `sandbox_conflict` for a name that is in use, and for an idempotency key of
  /// another request; `not_supported` for a sandbox that should stay after its lease but whose files are on no volume.
  /// The first call of `progress` comes when the sandbox is visible to all processes.
  [[nodiscard]] Task<Result<Made>> create(ApiKey key, CreateRequest request, Progress progress = unwatched);
  [[nodiscard]] Task<Result<Sandbox>> get(std::string tenant, std::string id);
  /// Expired sandboxes that are to be removed are left out, so a page may be short. `filter.owner` is an owner within
  /// the tenant.
  [[nodiscard]] Task<Result<SandboxPage>> list(std::string tenant, SandboxFilter filter);
  /// Lists all sandboxes of the tenant at once, from the driver's copies if it keeps some. `cluster_unavailable` while
  /// its host is away.
  [[nodiscard]] Task<Result<std::vector<Sandbox>>> all(std::string tenant);
  /// See Driver::watch_list.
  [[nodiscard]] Task<Result<std::unique_ptr<ListWatch>>> watch_list(std::string tenant, std::function<void()> changed);
  /// `not_supported` for a sandbox that would lose its files; `too_many_sandboxes` if its key has reached its limit of
  /// kept ones.
  [[nodiscard]] Task<Result<>> stop(std::string tenant, std::string id, Removal how = {});
  /// Does nothing if the sandbox runs. `ttl` is the length of the new lease.
  [[nodiscard]] Task<Result<Sandbox>> start(ApiKey key, std::string id, std::optional<std::chrono::milliseconds> ttl);
  /// Starts a sandbox for a request through the gateway, within the limits of the key that has created it. It stays
  /// asleep if that key was removed or has expired. A sandbox that has lost its files with its Pod is not started
  /// without its owner's request.
  [[nodiscard]] Task<Result<>> wake(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string tenant, std::string id, Lease lease);
  /// True if a sandbox from this template that is to reach nothing can have egress by name without a rule, so that
  /// names can be added later. A pool decides this itself, whose sandboxes may be behind a fence or not.
  [[nodiscard]] Task<bool> closes_by_name(std::string tenant, std::string template_name);
  /// See `is_open`; false for an unknown template.
  [[nodiscard]] Task<Result<bool>> is_open(std::string tenant, Sandbox sandbox);
  /// Changes the rules of its egress by name, or returns them. `not_supported` for a sandbox that has none, and for a
  /// change of one whose template has a narrower network.
  [[nodiscard]] Task<Result<EgressState>> set_egress(std::string tenant, std::string id, EgressChange change);
  /// See Driver::follow_egress_log.
  [[nodiscard]] Task<Result<>> follow_egress_log(std::string tenant, std::string id,
                                                 std::function<Result<>(std::string_view lines)> take);
  /// `sandbox_not_found` also if the sandbox does not fulfil `meant`.
  [[nodiscard]] Task<Result<>> remove(std::string tenant, std::string id, Removal how = {},
                                      RemovalPrecondition meant = {});
  /// Like `get`, with a freshness that was taken before the read.
  [[nodiscard]] Task<Result<FreshSandbox>> look_up(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string tenant, std::string id, TokenGrant grant);
  /// Connects to a port of a dialect that this server enables; `not_supported` for sandboxes that were created
  /// elsewhere.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string tenant, std::string id, std::uint16_t port);

  /// The pools of the tenant's namespace; none if the driver has no pools.
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> pools(std::string tenant);
  /// `not_found`
  [[nodiscard]] Task<Result<PoolStatus>> pool(std::string tenant, std::string name);

  /// A token of E2B's SDKs, and the tenant whose sandbox it belongs to.
  struct ShownToken {
    std::string tenant;
    std::string access_token;
    bool is_traffic = false;  ///< it is the sandbox's traffic token, for its ports
  };
  /// The token of the sandbox of this id; nullopt if it is nobody's. The record is not read: compare its nonce.
  [[nodiscard]] Task<Result<std::optional<ShownToken>>> shown_token(std::string id, std::string shown);
  /// Removes expired sandboxes, and sandboxes that a killed process has left, when their lease is over, and counts all.
  /// Any number of processes may do it at the same time. A tenant whose sandboxes cannot be read does not delay the
  /// others.
  [[nodiscard]] Task<Result<>> sweep();

  /// Begins to recreate the missing members of all tenants' pools; returns the sums.
  [[nodiscard]] Task<Result<PoolHealth>> heal_pools();

  void tell_changes(Changes changes) { changes_ = std::move(changes); }
  /// Writes to `log` what the server does by itself; null: nothing.
  void audit_to(AuditLog* log) noexcept { audit_ = log; }

  /// The access token of E2B's SDKs.
  [[nodiscard]] Task<Result<std::string>> access_token_of(std::string tenant, std::string id, std::string nonce);
  /// Their token for the sandbox's ports.
  [[nodiscard]] Task<Result<std::string>> traffic_token_of(std::string tenant, std::string id, std::string nonce);
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] const FleetCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const Templates& templates() const noexcept { return *templates_; }

 private:
  struct Found {
    Driver* driver;
    Sandbox sandbox;
  };
  class Change;
  enum class Reading : std::uint8_t {
    now,
    recent,     ///< see Driver::get_recent
    to_change,  ///< `cluster_unavailable` if the host is away, although a copy is known
  };
  [[nodiscard]] Task<Result<Found>> find(std::string tenant, std::string id, Reading reading = Reading::now);
  /// True if its template permits no egress by name.
  [[nodiscard]] bool is_narrower(const Driver& driver, const Sandbox& sandbox) const;
  [[nodiscard]] Task<Result<Made>> create_once(ApiKey key, CreateRequest request, Progress progress);
  /// Returns the sandbox that another request has created or is creating. The requests must be the same, unless any
  /// sandbox of the name is accepted.
  [[nodiscard]] Task<Result<Made>> found_again(Driver* driver, ApiKey key, CreateRequest request, Progress progress);
  /// The names of the key's sandboxes that `counts` selects: running ones, or kept ones.
  [[nodiscard]] Task<Result<std::set<std::string>>> names_of(Driver* driver, ApiKey key,
                                                             bool (*counts)(const Sandbox&));
  /// A place among the kept sandboxes, until the record shows it: concurrent stops all count.
  class Keeping {
   public:
    Keeping(std::map<std::string, std::size_t>* all, std::string key) : all_{all}, key_{std::move(key)} {
      ++(*all_)[key_];
    }
    ~Keeping() {
      if (--(*all_)[key_] == 0) all_->erase(key_);
    }
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;

   private:
    std::map<std::string, std::size_t>* all_;
    std::string key_;
  };
  /// Takes a place among the kept sandboxes; `too_many_sandboxes` if the key has reached its limit.
  [[nodiscard]] Task<Result<std::unique_ptr<Keeping>>> admit_kept(Driver* driver, ApiKey key);
  [[nodiscard]] Task<Result<Admission::Permit>> admit(Driver* driver, ApiKey key, std::string id);
  /// Counts again, after the new record is visible to all processes.
  [[nodiscard]] Task<Result<bool>> has_too_many(Driver* driver, ApiKey key);
  /// The key in the sandbox's label, for which it counts; nullopt if that was removed or has expired.
  [[nodiscard]] Task<Result<std::optional<ApiKey>>> key_of(Sandbox sandbox);
  /// Starts a sandbox. It takes a place of the key in its label, and one of the caller's key, to which the label then
  /// changes.
  [[nodiscard]] Task<Result<Sandbox>> start_found(Found found, ApiKey key, std::optional<std::chrono::milliseconds> ttl,
                                                  Progress progress);
  [[nodiscard]] Task<Result<SandboxSpec>> spec_of(const Driver* driver, ApiKey key, std::string id,
                                                  CreateRequest request);
  /// Adds the tenant's sandboxes to `seen`.
  [[nodiscard]] Task<Result<>> sweep_tenant(std::string tenant, LabelledNumbers* seen);
  [[nodiscard]] Task<> sweep_one(Driver* driver, Sandbox seen);
  /// The secret from which tokens are derived. `unauthenticated` if there was never a key.
  [[nodiscard]] Task<Result<std::string>> token_secret();

  Tenants* tenants_;
  KeyCache* keys_;
  const Templates* templates_;
  Admission admission_;
  FleetCounts counts_;
  AuditLog* audit_ = nullptr;
  std::map<std::string, std::size_t> being_kept_;  ///< keyed by the key's digest
  Changes changes_;
};

}  // namespace skiff::container::serve
