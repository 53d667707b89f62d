#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

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
  std::string template_name{Templates::kBase};
  std::map<std::string, std::string> env = {};  ///< beside the template's
  Labels labels = {};
  Lease lease = {};
  OnEnd on_end = OnEnd::remove;
  bool wakes = true;                        ///< when it sleeps, the next request that is meant for it starts it again
  std::optional<std::string> network = {};  ///< as `PodOptions::network`; none: as the template has it
  /// Of the client's choice: who asks again with the same one gets the same sandbox, for as long as that is there.
  std::string idempotency_key = {};
  std::string request = {};  ///< all that was asked for, to tell another wish with the same key
};

struct Made {
  Sandbox sandbox;
  bool is_new = false;
};

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

  /// `not_found` for an unknown template; `sandbox_conflict` for an idempotency key that was used for another wish;
  /// `not_supported` for one that is to be kept asleep and whose files no volume keeps.
  [[nodiscard]] Task<Result<Made>> create(ApiKey key, Wish wish);
  [[nodiscard]] Task<Result<Sandbox>> get(std::string tenant, std::string id);
  /// Those whose lease is over and that were not to be kept are left out, so a page may be short. `filter.owner` is the
  /// tenant already.
  [[nodiscard]] Task<Result<SandboxPage>> list(std::string tenant, SandboxFilter filter);
  /// `not_supported` for one that would lose its files.
  [[nodiscard]] Task<Result<>> stop(std::string tenant, std::string id);
  /// Nothing to do for one that runs. With `ttl` the lease that begins is that long.
  [[nodiscard]] Task<Result<Sandbox>> start(ApiKey key, std::string id, std::optional<std::chrono::milliseconds> ttl);
  /// The same for whoever reaches it through the gateway: the limits are those of the key that has made it. One that
  /// lost its files with its Pod is not made anew behind its owner's back.
  [[nodiscard]] Task<Result<>> wake(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string tenant, std::string id, Lease lease);
  [[nodiscard]] Task<Result<>> remove(std::string tenant, std::string id);
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string tenant, std::string id, TokenGrant grant);
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string tenant, std::string id, std::uint16_t port);

  /// Whose it is, for whoever shows what opens it and no key. `sandbox_not_found`.
  [[nodiscard]] Task<Result<std::string>> tenant_of(std::string id);
  /// Removes what is over, and what a process left half made that was killed, when its lease is over. Any number of
  /// processes may do it at once. A tenant that can't be looked at holds up none of the others.
  [[nodiscard]] Task<Result<>> sweep();

  /// The access token of E2B's SDKs.
  [[nodiscard]] Task<Result<std::string>> access_token_of(std::string id);
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] const Templates& templates() const noexcept { return *templates_; }

 private:
  struct Found {
    Driver* driver;
    Sandbox sandbox;
  };
  [[nodiscard]] Task<Result<Found>> find(std::string tenant, std::string id);
  /// Another request made it, or makes it: what that wanted must be the same.
  [[nodiscard]] Task<Result<Made>> found_again(Driver* driver, std::string tenant, std::string id, std::string request);
  [[nodiscard]] Task<Result<std::set<std::string>>> running(Driver* driver, ApiKey key);
  [[nodiscard]] Task<Result<Admission::Place>> admit(Driver* driver, ApiKey key, std::string id);
  [[nodiscard]] Task<Result<Sandbox>> start_found(Found found, std::optional<std::chrono::milliseconds> ttl);
  [[nodiscard]] Task<Result<SandboxSpec>> spec_of(const Driver* driver, ApiKey key, std::string id, Wish wish);
  [[nodiscard]] Task<Result<>> sweep_tenant(std::string tenant);

  Tenants* tenants_;
  KeyCache* keys_;
  const Templates* templates_;
  Admission admission_;
  std::map<std::string, std::string> whose_;  ///< tenants by ids, to look there first
};

}  // namespace skiff::container::serve
