#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/endpoint.hpp"
#include "container/agent/token.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/pools.hpp"
#include "container/sandbox/progress.hpp"
#include "container/sandbox/sandbox.hpp"
#include "container/sandbox/sighting.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Which sandboxes to list.
struct SandboxFilter {
  std::optional<std::string> owner = {};  ///< none: everybody's
  std::map<std::string, std::string> labels = {};
  std::optional<SandboxState> state = {};
  /// Also those whose record can't be read where it does not say whose they are: only for whoever has all of them.
  bool damaged = true;
  bool others = false;  ///< also what skiff did not make, where there can be such (claims): only to be looked at
  std::size_t limit = 500;
  /// A page ends, too, when the labels in it are longer, where the driver can: it has one item at least.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  std::string cursor = {};  ///< `next` of the page before
};

struct SandboxPage {
  std::vector<Sandbox> items;  ///< by name
  std::string next;            ///< empty: this is the last page
};

/// How a sandbox is removed, or ended.
struct Removal {
  std::optional<std::chrono::seconds> grace = {};  ///< for what runs in it to end by itself; none: as it was made
  bool force = false;                              ///< no grace, and without word from its node that it has ended
  bool wait = true;                                ///< until nothing of it is left
  std::chrono::milliseconds patience{120'000};     ///< longest such wait: `timeout` then
  /// Asked right before, with the sandbox as it is then: false, and it stays.
  std::function<bool(const Sandbox& now)> only_if = {};
};

/// Something that must be so for the driver to work.
struct Check {
  std::string what;
  bool passed = false;
  std::string detail;
  std::string remedy = {};  ///< what to do when it has not passed
};

/// Hosts sandboxes. All that is known of them lies with the host (a cluster, a state directory), so that any number of
/// processes may work on the same ones at once. Reactor thread only; the driver must outlive its calls.
///
/// A call that is cancelled, or that fails, leaves nothing half made. Errors beside the host's own:
/// `sandbox_not_found`, `sandbox_conflict`, `sandbox_not_running`, `sandbox_failed` (with its `failure_reason`),
/// `invalid_field` for what this driver does not offer.
class Driver {
 public:
  virtual ~Driver() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Where it looks for sandboxes: "driver pod, namespace default".
  [[nodiscard]] virtual std::string place() const { return "driver " + std::string{name()}; }
  /// What its users must know before they rely on it; may be empty.
  [[nodiscard]] virtual std::string_view notice() const noexcept { return {}; }

  /// Makes it and waits until its agent answers.
  [[nodiscard]] virtual Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) = 0;
  [[nodiscard]] virtual Task<Result<Sandbox>> get(std::string name) = 0;
  [[nodiscard]] virtual Task<Result<SandboxPage>> list(SandboxFilter filter) = 0;

  /// Ends what runs and keeps the record and the files. Nothing to do for one that does not run.
  [[nodiscard]] virtual Task<Result<>> stop(std::string name, Removal how) = 0;
  /// Makes it again from its record, with its lease begun anew; one that runs is left as it is.
  [[nodiscard]] virtual Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                                    Progress progress) = 0;
  /// One label of its record, from now on and for later starts.
  [[nodiscard]] virtual Task<Result<>> set_label(std::string /*name*/, std::string /*label*/, std::string /*value*/) {
    co_return fail(Errc::not_supported, "this driver keeps labels as they were at the creation");
  }
  /// Removes everything that belongs to it, and verifies that. False: there was none. Any number of removals may be
  /// under way at once: those that wait for an end hold nothing that another one needs.
  [[nodiscard]] virtual Task<Result<bool>> remove(std::string name, Removal how) = 0;
  /// The same for the one that has this id: another one that got the name meanwhile stays.
  [[nodiscard]] virtual Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) {
    auto found = co_await get(name);
    if (!found && found.error().code == Errc::sandbox_not_found) co_return false;
    if (!found) co_return std::unexpected{std::move(found.error())};
    if (found->id != id) co_return false;
    co_return co_await remove(std::move(name), std::move(how));
  }
  /// Renews the lease from now on; what is absent stays as it was. A host or an agent that does not answer is tried
  /// again, for `wait` at most.
  [[nodiscard]] virtual Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) = 0;

  /// How its agent is reached. The tokens carry `grant`.
  [[nodiscard]] virtual Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) = 0;
  /// One that runs, as it is now. Null: it does not run, or this driver can't tell at once when that changes. Take it
  /// before `get` or `endpoint`, and ask it afterwards: then those gave what was seen.
  [[nodiscard]] virtual std::unique_ptr<Sighting> sight(const std::string& /*name*/) { return nullptr; }
  /// A connection to a TCP port of the sandbox.
  [[nodiscard]] virtual Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) = 0;

  /// Changes what a sandbox may reach and who may reach it, also for later starts; what is empty stays as it was. Gives
  /// what holds now.
  [[nodiscard]] virtual Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                             std::vector<std::string> allow) = 0;

  /// What `create` would make, in its order; the cluster has been asked whether it would take it. Without owner
  /// references, which need uids. `to_be_applied`: the signing key is made if there is none; else nothing is, and
  /// agents lack the public half of a key that does not exist yet.
  [[nodiscard]] virtual Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) = 0;

  /// Sandboxes made in advance; null for a driver that has none.
  [[nodiscard]] virtual Pools* pools() noexcept { return nullptr; }

  /// Looks at what the driver needs; never fails as a whole.
  [[nodiscard]] virtual Task<std::vector<Check>> examine() = 0;

  /// Ends the connections that it holds; call it before the driver goes away.
  [[nodiscard]] virtual Task<> close() { co_return; }
};

}  // namespace skiff::container
