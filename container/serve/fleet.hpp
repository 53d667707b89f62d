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
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/admission.hpp"
#include "container/serve/api_key.hpp"
#include "container/serve/key_store.hpp"
#include "container/serve/record_labels.hpp"
#include "container/serve/templates.hpp"
#include "container/serve/tenants.hpp"

namespace skiff::container::serve {

/// A sandbox that a client wants.
struct Wish {
  std::string name = {};       ///< of the client's choice: its id; empty: the server makes one
  bool get_or_create = false;  ///< one of that name will do, and is started unless it runs
  std::string id = {};         ///< what `Fleet::id_for` gives; empty: it is asked
  std::string template_name{Templates::kBase};
  std::map<std::string, std::string> env = {};  ///< beside the template's
  Labels labels = {};
  Lease lease = {};
  OnEnd on_end = OnEnd::remove;
  bool is_told_at_once = false;             ///< who asks for it is told its id before it is up
  bool wakes = true;                        ///< when it sleeps, the next request that is meant for it starts it again
  std::optional<std::string> network = {};  ///< as `PodOptions::network`; none: as the template has it
  std::string owner = {};                   ///< whose it is within the tenant
  /// Of the client's choice: who asks again with the same one gets the same sandbox, for as long as that is there.
  std::string idempotency_key = {};
  std::string request = {};  ///< all that was asked for, to tell another wish with the same key
};

/// Whether the server makes such ids: nobody else may choose one.
[[nodiscard]] bool is_made_id(std::string_view id);

/// Nobody looks on.
inline void unwatched(Phase /*phase*/, std::string_view /*detail*/) {}

/// Which of all that have had an id is to be removed: what is said must be so then.
struct Meant {
  std::string uid = {};
  std::optional<SandboxState> state = {};
  std::string idempotency_key = {};  ///< that it was made with
};

struct Made {
  Sandbox sandbox;
  bool is_new = false;
};

/// A sandbox, and how to find out whether it is still as it was read.
struct Sighted {
  Sandbox sandbox;
  std::unique_ptr<Sighting> sighting;  ///< null: see Driver::sight
};

/// Is told of a sandbox that this process changes: before, and when that has ended.
using Changes = std::function<void(const std::string& tenant, const std::string& id)>;

/// The sandboxes of all tenants. It keeps nothing itself: what there is, and how it is, lies with the drivers' hosts,
/// so any number of processes may do this at once. Whatever a tenant asks for, he finds his own sandboxes only; another
/// one's does not exist for him. A sandbox is known by its id, which is its name with the driver.
///
/// Errors beside those of `Driver`: too_many_sandboxes. Reactor thread only.
class Fleet {
 public:
  /// What it is given must outlive it.
  Fleet(Tenants* tenants, KeyCache* keys, const Templates* templates)
      : tenants_{tenants}, keys_{keys}, templates_{templates} {}

  /// The id that the sandbox of this wish has. `invalid_field` for a name that no sandbox can have, and for one of the
  /// form that the server makes itself.
  [[nodiscard]] Task<Result<std::string>> id_for(std::string tenant, Wish wish);
  /// `not_found` for an unknown template; `sandbox_conflict` for a name that is taken, and for an idempotency key that
  /// was used for another wish; `not_supported` for one that is to be kept asleep and whose files no volume keeps. What
  /// `progress` is told first is told when the sandbox can be seen by everybody.
  [[nodiscard]] Task<Result<Made>> create(ApiKey key, Wish wish, Progress progress = unwatched);
  [[nodiscard]] Task<Result<Sandbox>> get(std::string tenant, std::string id);
  /// Those whose lease is over and that were not to be kept are left out, so a page may be short. `filter.owner` is one
  /// within the tenant.
  [[nodiscard]] Task<Result<SandboxPage>> list(std::string tenant, SandboxFilter filter);
  /// `not_supported` for one that would lose its files; `too_many_sandboxes` when its key keeps as many as it may.
  [[nodiscard]] Task<Result<>> stop(std::string tenant, std::string id, Removal how = {});
  /// Nothing to do for one that runs. With `ttl` the lease that begins is that long.
  [[nodiscard]] Task<Result<Sandbox>> start(ApiKey key, std::string id, std::optional<std::chrono::milliseconds> ttl);
  /// The same for whoever reaches it through the gateway: the limits are those of the key that has made it, and it
  /// stays asleep when that was removed or is over. One that lost its files with its Pod is not made anew behind its
  /// owner's back.
  [[nodiscard]] Task<Result<>> wake(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string tenant, std::string id, Lease lease);
  /// `sandbox_not_found` also for another one than the one that is meant.
  [[nodiscard]] Task<Result<>> remove(std::string tenant, std::string id, Removal how = {}, Meant meant = {});
  /// `get` with a sighting from before.
  [[nodiscard]] Task<Result<Sighted>> sight(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string tenant, std::string id, TokenGrant grant);
  /// To a port of the dialects that sandboxes are made with here; `not_supported` for one that was made elsewhere.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string tenant, std::string id, std::uint16_t port);

  /// Those of the tenant's namespace; none where the driver has none.
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> pools(std::string tenant);
  /// `not_found`
  [[nodiscard]] Task<Result<PoolStatus>> pool(std::string tenant, std::string name);

  /// Whose sandbox of this id the access token was made for. Nothing if nobody's. Whether the record that it was made
  /// for is still there is not looked at: its nonce says so.
  [[nodiscard]] Task<Result<std::optional<std::string>>> tenant_by_token(std::string id, std::string shown);
  /// Removes what is over, and what a process left half made that was killed, when its lease is over. Any number of
  /// processes may do it at once. A tenant that can't be looked at holds up none of the others.
  [[nodiscard]] Task<Result<>> sweep();

  /// Has what is missing in the pools of all tenants made again; the sum of them all.
  [[nodiscard]] Task<Result<PoolHealth>> heal_pools();

  void tell_changes(Changes changes) { changes_ = std::move(changes); }

  /// The access token of E2B's SDKs.
  [[nodiscard]] Task<Result<std::string>> access_token_of(std::string tenant, std::string id, std::string nonce);
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] const Templates& templates() const noexcept { return *templates_; }

 private:
  struct Found {
    Driver* driver;
    Sandbox sandbox;
  };
  class Change;
  [[nodiscard]] Task<Result<Found>> find(std::string tenant, std::string id);
  /// Another request made it, or makes it: what that wanted must be the same, unless any one will do.
  [[nodiscard]] Task<Result<Made>> found_again(Driver* driver, ApiKey key, Wish wish, Progress progress);
  /// The names of its sandboxes that are counted as running, or as kept.
  [[nodiscard]] Task<Result<std::set<std::string>>> names_of(Driver* driver, ApiKey key,
                                                             bool (*counts)(const Sandbox&));
  /// A place among those that are kept, until the record says so: two that are stopped at once are two.
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
  /// Of those that would be kept: `too_many_sandboxes` when there are as many as the key may have.
  [[nodiscard]] Task<Result<std::unique_ptr<Keeping>>> admit_kept(Driver* driver, ApiKey key);
  [[nodiscard]] Task<Result<Admission::Place>> admit(Driver* driver, ApiKey key, std::string id);
  /// Now that the record of another one can be seen by all processes.
  [[nodiscard]] Task<Result<bool>> has_too_many(Driver* driver, ApiKey key);
  /// The key by whose label the sandbox runs now; nothing when that was removed or is over, and nobody has paid for it.
  [[nodiscard]] Task<Result<std::optional<ApiKey>>> key_of(Sandbox sandbox);
  /// It takes a place of the key by whose label it is, and one of the caller's, by whose label it goes on.
  [[nodiscard]] Task<Result<Sandbox>> start_found(Found found, ApiKey key, std::optional<std::chrono::milliseconds> ttl,
                                                  Progress progress);
  [[nodiscard]] Task<Result<SandboxSpec>> spec_of(const Driver* driver, ApiKey key, std::string id, Wish wish);
  [[nodiscard]] Task<Result<>> sweep_tenant(std::string tenant);
  [[nodiscard]] Task<> sweep_one(Driver* driver, Sandbox seen);
  /// The secret from which tokens are made. `unauthenticated` before there was a key.
  [[nodiscard]] Task<Result<std::string>> token_secret();

  Tenants* tenants_;
  KeyCache* keys_;
  const Templates* templates_;
  Admission admission_;
  std::map<std::string, std::size_t> being_kept_;  ///< by the digest of the key
  Changes changes_;
};

}  // namespace skiff::container::serve
