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

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/endpoint.hpp"
#include "container/agent/token.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/freshness.hpp"
#include "container/sandbox/pools.hpp"
#include "container/sandbox/progress.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Which sandboxes to list.
struct SandboxFilter {
  std::optional<std::string> owner = {};  ///< empty: sandboxes of all owners
  std::map<std::string, std::string> labels = {};
  std::optional<SandboxState> state = {};
  /// List also sandboxes whose record cannot be read and so does not name the owner: only for callers who may see all
  /// owners' sandboxes.
  bool damaged = true;
  /// List also sandboxes of which nothing is left but processes that run. This may take long.
  bool lost = false;
  bool others = false;  ///< list also sandboxes that skiff did not create (claims); they can only be looked at
  std::size_t limit = 500;
  /// Longest labels of one page together, if the driver supports it; a page has at least one item.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  std::string cursor = {};      ///< `next` of the previous page
  bool copies_will_do = false;  ///< while its host is away, list what the driver knows
  bool reads_copies = false;    ///< list what the driver knows, if it keeps copies, without asking the host
};

struct SandboxPage {
  std::vector<Sandbox> items;  ///< by name
  std::string next;            ///< empty: this is the last page
  /// Hosts that did not answer, each with what it said: what nobody but they know of is not in the page.
  std::vector<std::string> not_asked = {};
};

/// How a sandbox is removed, or ended.
struct Removal {
  std::optional<std::chrono::seconds> grace =
      {};              ///< time for its processes to end by themselves; empty: as it was created
  bool force = false;  ///< no grace, and do not wait for the node's report that it has ended
  bool wait = true;    ///< wait until all of it is removed
  std::chrono::milliseconds patience{120'000};  ///< longest such wait, then `timeout`
  /// Called directly before the removal with the current state of the sandbox; if it returns false, the sandbox stays.
  std::function<bool(const Sandbox& now)> only_if = {};
};

/// Notices changes of a driver's list for as long as it exists. Reactor thread only; the driver must outlive it.
class ListWatch {
 public:
  ListWatch() = default;
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;
  virtual ~ListWatch() = default;

  /// False while changes may go unnoticed, so that the list has to be read every now and then.
  [[nodiscard]] virtual bool sees_all() const noexcept = 0;
};

/// True for the drivers whose sandboxes, and the keys of a server for them, are files of this machine.
[[nodiscard]] constexpr bool is_of_this_machine(std::string_view driver) noexcept {
  return driver == "local" || driver == "box" || driver == "docker";
}

/// A condition that the driver needs to work.
struct Check {
  std::string what;
  bool passed = false;
  bool is_offered = true;  ///< false: those who ask for it are refused, and nobody else needs it
  std::string detail;
  std::string remedy = {};  ///< what to do if the check failed, or to have what is not offered
};

/// Hosts sandboxes. The host (a cluster, a state directory) stores their whole state, so any number of processes may
/// work on the same sandboxes at the same time. Reactor thread only; the driver must outlive its calls.
///
/// A call that fails or is cancelled undoes what it has begun. Errors beside the host's own: `sandbox_not_found`,
/// `sandbox_conflict`, `sandbox_not_running`, `sandbox_failed` (with its `failure_reason`), `invalid_field` for what
/// this driver does not offer.
class Driver {
 public:
  virtual ~Driver() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The place where it looks for sandboxes: "driver pod, namespace default".
  [[nodiscard]] virtual std::string place() const { return "driver " + std::string{name()}; }
  /// A warning that its users must know before they rely on it; may be empty.
  [[nodiscard]] virtual std::string_view notice() const noexcept { return {}; }

  /// Creates a sandbox and waits until its agent answers.
  [[nodiscard]] virtual Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) = 0;
  [[nodiscard]] virtual Task<Result<Sandbox>> get(std::string name) = 0;
  /// Like `get`, but it may return what was right a second ago, without asking the host.
  [[nodiscard]] virtual Task<Result<Sandbox>> get_recent(std::string name) { return get(std::move(name)); }
  [[nodiscard]] virtual Task<Result<SandboxPage>> list(SandboxFilter filter) = 0;
  /// Calls `changed` on the reactor when the list may have changed, and at times when it has not. Null: this driver
  /// notices no changes.
  [[nodiscard]] virtual std::unique_ptr<ListWatch> watch_list(
      Executor /*executor*/,
      std::function<void()> /*changed*/) {  // NOLINT(performance-unnecessary-value-param): drivers keep it
    return nullptr;
  }

  /// Ends the processes and keeps the record and the files. Does nothing if the sandbox does not run.
  [[nodiscard]] virtual Task<Result<>> stop(std::string name, Removal how) = 0;
  /// Runs a sandbox again from its record with a new lease. Does nothing if it runs.
  [[nodiscard]] virtual Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                                    Progress progress) = 0;
  /// Sets one label in its record, now and for later starts.
  [[nodiscard]] virtual Task<Result<>> set_label(std::string /*name*/, std::string /*label*/, std::string /*value*/) {
    co_return fail(Errc::not_supported, "this driver cannot change the labels of a sandbox");
  }
  /// Removes everything that belongs to the sandbox and verifies it. Returns false if there was none. Any number of
  /// removals may be under way at the same time: one that waits does not block another.
  [[nodiscard]] virtual Task<Result<bool>> remove(std::string name, Removal how) = 0;
  /// Removes the sandbox only if it has this id: another one that got the name meanwhile stays.
  [[nodiscard]] virtual Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) {
    auto found = co_await get(name);
    if (!found && found.error().code == Errc::sandbox_not_found) co_return false;
    if (!found) co_return std::unexpected{std::move(found.error())};
    if (found->id != id) co_return false;
    co_return co_await remove(std::move(name), std::move(how));
  }
  /// Renews the lease from now on; times that are absent stay as they were. A host or agent that does not answer is
  /// asked again, for at most `wait`.
  [[nodiscard]] virtual Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) = 0;

  /// The endpoint of its agent, with tokens of the given grant.
  [[nodiscard]] virtual Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) = 0;
  /// Watches a running sandbox from now on. Null if it does not run, or if this driver cannot notice changes at once.
  /// Take it before `get` or `endpoint` and check it afterwards: if it still holds, their results are those of the
  /// sandbox that was found.
  [[nodiscard]] virtual std::unique_ptr<Freshness> freshness(const std::string& /*name*/) { return nullptr; }
  /// Connects to a TCP port of the sandbox.
  [[nodiscard]] virtual Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) = 0;

  /// Changes the addresses that a sandbox may reach and that may reach it, also for later starts; empty arguments
  /// change nothing. Returns the options that are in force now.
  [[nodiscard]] virtual Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                             std::vector<std::string> allow) = 0;

  /// True if new sandboxes can have egress by name.
  [[nodiscard]] virtual Task<bool> offers_egress() { co_return false; }

  /// Changes the names that a sandbox may reach (`--egress`), also for later starts. Of two changes at the same time
  /// none is lost. An empty one changes nothing. Returns what is in force now. `not_supported`: sandboxes of this
  /// driver have none. `invalid_field`: this one has none, or a rule is wrong.
  [[nodiscard]] virtual Task<Result<EgressState>> set_egress(std::string /*name*/, EgressChange /*change*/) {
    co_return fail(Errc::not_supported, "the driver " + std::string{name()} +
                                            " has no egress by name in this version: --driver box and --driver pod "
                                            "with --egress HOST do");
  }

  /// Returns the log of a sandbox with `--egress`: its connections and refusals as JSON objects, each a line, in no
  /// order. Errors as of `set_egress`.
  [[nodiscard]] virtual Task<Result<std::string>> egress_log(std::string name) {
    SKIFF_CO_TRY_VOID(co_await set_egress(std::move(name), {}));
    co_return std::string{};
  }

  /// Passes those lines, and each new one once, to `take`, until the sandbox goes or `take` fails. Each text has whole
  /// lines. Where lines could not be read before they were dropped, a line has the verdict `missing`.
  [[nodiscard]] virtual Task<Result<>> follow_egress_log(std::string name,
                                                         std::function<Result<>(std::string_view lines)> /*take*/) {
    SKIFF_CO_TRY_VOID(co_await set_egress(std::move(name), {}));
    co_return Result<>{};
  }

  /// The directory of this machine that it writes over (`--mount DIR`), whether it runs or not. `not_supported`:
  /// sandboxes of this driver have none. `invalid_field`: this one has none.
  [[nodiscard]] virtual Task<Result<MountedLayer>> layer(std::string /*name*/) {
    co_return fail(Errc::not_supported, "the driver " + std::string{name()} +
                                            " writes into no directory of this machine: --driver box with --mount "
                                            "DIR does, and its changes can be seen and applied");
  }

  /// The objects that `create` would create, in that order, checked by the cluster. They have no owner references,
  /// which need uids. With `to_be_applied` the signing key is created if there is none. Otherwise nothing is created,
  /// and the agents' objects lack the public half of a key that does not exist yet.
  [[nodiscard]] virtual Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) = 0;

  /// From now on the driver keeps copies of what its host has, until `close`: for servers. What is only read is then
  /// answered from them while the host is away.
  virtual void keep_copies() {}
  /// Waits, at most until then, for copies that have all that there is.
  [[nodiscard]] virtual Task<> await_copies(SteadyTime /*until*/) { co_return; }
  /// `cluster_unavailable` if its host does not answer, as far as that is known without waiting long.
  [[nodiscard]] virtual Task<Result<>> check_answers() { co_return Result<>{}; }

  /// Sandboxes that are created in advance; null for a driver without pools.
  [[nodiscard]] virtual Pools* pools() noexcept { return nullptr; }

  /// Fails if its host can have no sandbox at all, with the reason and what to do. Not every driver can tell.
  [[nodiscard]] virtual Task<Result<>> check_host() { co_return Result<>{}; }

  /// The log of a sandbox's agent, where the host has it; else nothing: `details` may name a file with it.
  [[nodiscard]] virtual Task<Result<std::optional<std::string>>> agent_log(std::string /*name*/) {
    co_return std::nullopt;
  }

  /// Checks the conditions that the driver needs; never fails as a whole.
  [[nodiscard]] virtual Task<std::vector<Check>> examine() = 0;

  /// Ends the driver's connections; call it before the driver is destroyed.
  [[nodiscard]] virtual Task<> close() { co_return; }
};

}  // namespace skiff::container
