#include "container/drivers/claims/driver.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/semaphore.hpp"
#include "base/async/with_timeout.hpp"
#include "base/id.hpp"
#include "container/agent/client.hpp"
#include "container/cluster/checks.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/claims/create.hpp"
#include "container/drivers/claims/noted_pod.hpp"
#include "container/drivers/claims/remove.hpp"
#include "container/drivers/claims/wait.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kLargestPage = 500;
constexpr std::size_t kRemovedAtOnce = 16;
/// Longest time to bring up a sandbox whose creator was killed, for a caller who wants to use it.
constexpr std::chrono::seconds kGreeting{10};
constexpr std::string_view kClaims = "claims:";
constexpr std::string_view kBare = "sandboxes:";

std::optional<WallTime> lease_end(const Lease& lease, milliseconds later) {
  if (!lease.ttl) return std::nullopt;
  return wall_now() + *lease.ttl + later;
}

kube::Resource resource_of(const Object& object, SandboxApi api) {
  return at(is_claim(object) ? kube::kSandboxClaims : kube::kSandboxes, api);
}

/// A Sandbox that is a claim's. Either may belong to somebody else's object, and is one that we made all the same.
bool is_claimed(const Object& object) {
  const json* owners = object.find({"metadata", "ownerReferences"});
  if (is_claim(object) || owners == nullptr || !owners->is_array()) return false;
  return std::ranges::any_of(*owners, [](const json& owner) {
    return owner.is_object() && owner.value("kind", json{}) == kube::kSandboxClaims.kind;
  });
}

/// The controller decides about Pods.
Result<> refuse_haste(const Removal& how) {
  if (!how.force && !how.grace) return {};
  return fail(Errc::invalid_field,
              "with --driver claim the controller ends Pods, in its own time: leave out --force and --grace-period",
              how.force ? "--force" : "--grace-period");
}

Error no_agent(const Object& pod) {
  return bring_up_failure(
      FailureReason::no_agent,
      "Pod " + pod.name() +
          " is ready, but its template does not run skiffd: `skiff pool create` creates one that does");
}

bool has_wanted_state(const Sandbox& sandbox, const SandboxFilter& filter) {
  return !filter.state || sandbox.state == *filter.state;
}

}  // namespace

ClaimDriver::ClaimDriver(Cluster* cluster, ReachOptions reach)
    : cluster_{cluster},
      reach_{cluster, std::move(reach)},
      pools_{cluster},
      removals_{cluster->executor(), kRemovedAtOnce} {}

void ClaimDriver::keep_copies() {
  cluster_->watch_presence(kube::kPods);
}

Task<> ClaimDriver::close() {
  co_await reach_.stop();
  co_await cluster_->close();
}

Task<Result<Object>> ClaimDriver::find(std::string name) {
  const auto foreign = foreign_claim_name(name);
  if (auto valid = check_name(name); !valid && !foreign) co_return std::unexpected{std::move(valid.error())};
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  if (foreign) {
    auto found = co_await cluster_->read(at(kube::kSandboxClaims, api), cluster_->namespace_name(), *foreign);
    if (found && !labels::is_ours(*found)) co_return std::move(*found);
    if (found || found.error().not_found()) co_return std::unexpected{no_such_sandbox(name)};
    co_return std::unexpected{std::move(found.error())};
  }
  for (const kube::Resource& kind : {kube::kSandboxClaims, kube::kSandboxes}) {
    auto found = co_await cluster_->read(at(kind, api), cluster_->namespace_name(), cluster_->object_name(name));
    if (!found && found.error().not_found()) continue;
    if (!found) co_return std::unexpected{std::move(found.error())};
    // A Sandbox of that name may belong to another user's claim, or not be skiff's.
    if (found->label(labels::kManagedBy) == "skiff" && !is_claimed(*found)) co_return std::move(*found);
  }
  co_return std::unexpected{no_such_sandbox(name)};
}

Task<Result<ClaimView>> ClaimDriver::look(Object object) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  co_return co_await look_at_claim(cluster_, api, std::move(object));
}

Task<Result<ClaimView>> ClaimDriver::find_running(std::string name) {
  SKIFF_CO_TRY(auto object, co_await find(std::move(name)));
  SKIFF_CO_TRY(auto view, co_await look(std::move(object)));
  if (view.now.state != SandboxState::running) co_return std::unexpected{not_running(view.now)};
  if (!lacks_note(view.object)) co_return view;
  // A caller without the right to note it may use it, too.
  std::string lost_with = loss_before_start(view.object, view.now);
  auto noted = co_await greet(view, false, std::move(lost_with), std::chrono::steady_clock::now() + kGreeting);
  if (noted) view.object = std::move(*noted);
  co_return view;
}

Result<ReachTarget> ClaimDriver::target_of(const ClaimView& view) {
  if (!view.sandbox || !view.pod) return std::unexpected{not_running(view.now)};
  if (!runs_agent(*view.pod)) return std::unexpected{no_agent(*view.pod)};
  return ReachTarget{.sandbox = view.now.name,
                     .namespace_name = view.object.namespace_name(),
                     .pod = *view.pod,
                     .gateway_id = view.sandbox->name()};
}

Task<Result<Endpoint>> ClaimDriver::endpoint_of(ReachTarget target, std::string owner, TokenGrant grant) {
  SKIFF_CO_TRY_VOID(check_grant(grant));
  auto key = co_await cluster_->signing_key_of(target.pod);
  if (!key) co_return std::unexpected{std::move(key.error())};
  auto token = [key = std::move(*key), id = agent_id(target.pod), owner = std::move(owner), grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  co_return co_await reach_.find(std::move(target), std::move(token));
}

Task<Result<Object>> ClaimDriver::patch(Object object, json patch) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  auto patched = co_await cluster_->client().patch(resource_of(object, api), object.namespace_name(), object.name(),
                                                   kube::PatchKind::merge, std::move(patch));
  if (patched) co_return std::move(*patched);
  if (patched.error().not_found()) {
    co_return std::unexpected{no_such_sandbox(labels::get(object, labels::kName))};
  }
  co_return std::unexpected{std::move(patched.error())};
}

Task<Result<>> ClaimDriver::bind(const Object* object, Endpoint endpoint, bool is_new) {
  const SandboxSpec spec = spec_of(*object);
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  json body = json::object();
  if (spec.lease.ttl) body["ttl_ms"] = spec.lease.ttl->count();
  if (spec.lease.idle_ttl) body["idle_ttl_ms"] = spec.lease.idle_ttl->count();
  std::string path = "/v1/lease";
  if (is_claim(*object)) {
    path = "/v1/init";
    body["env"] = spec.env;
    body["labels"] = spec.labels;
  } else if (is_new || body.empty()) {
    co_return Result<>{};  // its Pod was created with all these values
  }
  std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  auto done = co_await agent.post(std::move(path), std::move(text));
  // Another process that waits for the sandbox has sent the same values.
  if (done || done.error().code == Errc::already_initialised) co_return Result<>{};
  if (done.error().code != Errc::unauthenticated) co_return std::unexpected{std::move(done.error())};
  co_return std::unexpected{bring_up_failure(FailureReason::no_agent,
                                             "the template's agent does not accept the tokens of this namespace: "
                                             "`skiff pool create` creates one that knows its key")};
}

Task<Result<Sandbox>> ClaimDriver::bring_up(Object object, Object awaited, bool is_new, std::string lost_with,
                                            SteadyTime deadline, Progress progress) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  const kube::Resource resource = resource_of(awaited, api);
  SKIFF_CO_TRY(auto ready,
               co_await wait_for_claim(&cluster_->client(), resource, std::move(awaited), deadline, progress));
  progress(Phase::starting, "agent");
  if (ready.uid() == object.uid()) object = std::move(ready);
  SKIFF_CO_TRY(auto view, co_await read_claim(cluster_, api, std::move(object)));
  SKIFF_CO_TRY(auto written, co_await greet(std::move(view), is_new, lost_with, deadline));
  progress(Phase::ready, "");
  // The condition may be older than the agent's answer.
  Sandbox sandbox = describe_claim(written);
  sandbox.state = SandboxState::running;
  sandbox.reason = lost_with.empty() ? std::string{} : began_anew(lost_with);
  co_return sandbox;
}

Task<Result<Object>> ClaimDriver::greet(ClaimView view, bool is_new, std::string lost_with, SteadyTime deadline) {
  SandboxSpec spec = spec_of(view.object);
  SKIFF_CO_TRY(auto target, target_of(view));
  auto endpoint = co_await within(deadline, endpoint_of(std::move(target), spec.owner, {}));
  if (!endpoint || !*endpoint) {
    const std::string why = endpoint ? endpoint->error().message : "no answer in time; `--wait` gives more";
    co_return std::unexpected{bring_up_failure(FailureReason::not_ready, "its agent can't be reached: " + why)};
  }
  SKIFF_CO_TRY_VOID(co_await bind(&view.object, std::move(**endpoint), is_new));
  json known = lifetime_patch(is_claim(view.object), lease_end(spec.lease, {}));
  known["metadata"]["labels"][labels::kSandbox] = labels::label_value(agent_id(*view.pod));
  if (!spec.lease.ttl) known.erase("spec");
  const std::uint16_t port = agent_port_of(*view.pod);
  if (spec.pod.agent_port != port) {
    // The template has chosen the port. Note it, because a list of claims does not read Pods.
    spec.pod.agent_port = port;
    known.merge_patch(spec_patch(spec));
  }
  if (labels::is_ours(view.object)) known.merge_patch(up_note(*view.pod, std::move(lost_with)));
  co_return co_await patch(std::move(view.object), std::move(known));
}

Task<Result<Sandbox>> ClaimDriver::create(SandboxSpec spec, Progress progress) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + spec.wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  const std::string name = spec.name;
  const std::string creation = new_id("s");
  // Set a later end at first: the lease begins when the agent answers, and is set again then.
  ClaimRequest request{.creation = creation, .until = lease_end(spec.lease, spec.wait)};
  SKIFF_CO_TRY(auto plan,
               co_await answered_by(deadline, plan_claim(cluster_, &pools_, std::move(spec), std::move(request))));
  auto work = make(std::move(plan), deadline, std::move(progress));
  co_return co_await undo_unless(
      std::move(work), [&](milliseconds patience) { return withdraw(name, creation, patience); }, kLateArrival,
      deadline + kHostPatience);
}

Task<Result<Sandbox>> ClaimDriver::make(ClaimPlan plan, SteadyTime deadline, Progress progress) {
  SKIFF_CO_TRY(auto made, co_await create_planned(cluster_, std::move(plan)));
  co_return co_await bring_up(made, made, true, {}, deadline, std::move(progress));
}

Task<Result<bool>> ClaimDriver::withdraw(std::string name, std::string creation, milliseconds patience) {
  auto object = co_await find(std::move(name));
  if (!object && object.error().code == Errc::sandbox_not_found) co_return true;
  if (!object) co_return std::unexpected{std::move(object.error())};
  if (!is_marked(*object, creation)) co_return true;
  if (patience.count() > 0) {
    auto removed = co_await remove_found(*object, {.patience = patience});
    if (removed) co_return true;
    if (removed.error().code != Errc::timeout) co_return std::unexpected{std::move(removed.error())};
  }
  SKIFF_CO_TRY_VOID(co_await remove_found(std::move(*object), {.wait = false}));
  co_return false;
}

Task<Result<std::vector<Object>>> ClaimDriver::manifest(SandboxSpec spec, bool to_be_applied) {
  ClaimRequest request{.creation = new_id("s"), .until = lease_end(spec.lease, spec.wait), .makes_key = to_be_applied};
  SKIFF_CO_TRY(auto plan, co_await plan_claim(cluster_, &pools_, std::move(spec), std::move(request)));
  co_return co_await try_planned(cluster_, std::move(plan));
}

Task<Result<PodOptions>> ClaimDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return fail(Errc::invalid_field,
                 "with --driver claim the network of a sandbox cannot be changed: set it with `skiff up --network` for "
                 "a bare Sandbox, or with `skiff pool create --network` for a pool",
                 "--driver");
}

Task<Result<Sandbox>> ClaimDriver::get(std::string name) {
  SKIFF_CO_TRY(auto object, co_await find(std::move(name)));
  SKIFF_CO_TRY(auto view, co_await look(std::move(object)));
  if (view.sandbox && view.now.state == SandboxState::running) view.now.details["pod"] = pod_name(*view.sandbox);
  co_return std::move(view.now);
}

Task<Result<SandboxPage>> ClaimDriver::list_some(SandboxFilter filter) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  const bool claims = !filter.cursor.starts_with(kBare);
  const std::string_view prefix = claims ? kClaims : kBare;
  if (!filter.cursor.empty() && !filter.cursor.starts_with(prefix)) {
    co_return fail(Errc::invalid_field, "--cursor \"" + filter.cursor + "\": expected the `next` of a page before it",
                   "--cursor");
  }
  const kube::Resource kind = at(claims ? kube::kSandboxClaims : kube::kSandboxes, api);
  std::string token = filter.cursor.empty() ? filter.cursor : filter.cursor.substr(prefix.size());
  const bool wants_all = claims && filter.others && !filter.owner && filter.labels.empty();
  kube::ListOptions options{.label_selector = wants_all ? std::string{} : labels::selector("sandbox", filter),
                            .page = std::min(filter.limit, kLargestPage)};
  auto page =
      co_await cluster_->client().list_page(kind, cluster_->namespace_name(), std::move(options), std::move(token));
  // The extensions can be left out when agent-sandbox is installed.
  if (!page && !(claims && page.error().not_found())) co_return std::unexpected{std::move(page.error())};
  SandboxPage found;
  if (page) {
    std::erase_if(page->items, is_claimed);
    auto all = co_await look_at_claims(cluster_, api, std::move(page->items));
    std::erase_if(all, [&](const Sandbox& sandbox) { return !has_wanted_state(sandbox, filter); });
    found.items = std::move(all);
    if (!page->continue_token.empty()) found.next = std::string{prefix} + page->continue_token;
  }
  if (claims && found.next.empty()) found.next = kBare;
  co_return found;
}

Task<Result<SandboxPage>> ClaimDriver::list(SandboxFilter filter) {
  SKIFF_CO_TRY_VOID(co_await cluster_->check_answers());
  SandboxPage all;
  const std::size_t limit = filter.limit;
  do {
    filter.limit = limit - all.items.size();
    auto some = co_await list_some(filter);
    if (!some) co_return some;
    std::ranges::move(some->items, std::back_inserter(all.items));
    filter.cursor = std::move(some->next);
  } while (!filter.cursor.empty() && all.items.size() < limit);
  all.next = std::move(filter.cursor);
  std::ranges::sort(all.items, {}, &Sandbox::name);
  co_return all;
}

Task<Result<Object>> ClaimDriver::suspend(Object object, std::string lost_with, Removal how) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  SKIFF_CO_TRY(auto sandbox, co_await sandbox_of(cluster_, api, object));
  if (!sandbox) co_return std::unexpected{not_running(describe_claim(object))};
  const std::string pod = pod_name(*sandbox);
  json mode = mode_patch(api, false);
  // A sandbox that was stopped on purpose does not run out of time.
  json noted = labels::is_ours(object) ? down_note(std::move(lost_with)) : json::object();
  if (!is_claim(object)) {
    mode["spec"].update(lifetime_patch(false, std::nullopt)["spec"]);
    mode.merge_patch(noted);
  } else {
    if (object.find({"spec", "lifecycle"}) != nullptr) noted.merge_patch(lifetime_patch(true, std::nullopt));
    SKIFF_CO_TRY_VOID(co_await patch(object, std::move(noted)));
  }
  auto suspended = co_await patch(*sandbox, std::move(mode));
  if (!suspended) co_return suspended;
  if (!how.wait) co_return suspended;
  GoneWait wait{.resource = kube::kPods, .namespace_name = object.namespace_name(), .name = pod, .limit = how.patience};
  SKIFF_CO_TRY_VOID(co_await wait_until_gone(&cluster_->client(), std::move(wait)));
  co_return suspended;
}

Task<Result<>> ClaimDriver::stop(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(refuse_haste(how));
  SKIFF_CO_TRY(auto object, co_await find(std::move(name)));
  if (judge_claim(object).state == SandboxState::stopped) co_return Result<>{};
  SKIFF_CO_TRY_VOID(co_await suspend(std::move(object), {}, std::move(how)));
  co_return Result<>{};
}

Task<Result<Sandbox>> ClaimDriver::resume(Object object, Object sandbox, std::string lost_with, SteadyTime deadline,
                                          Progress progress) {
  const auto wait = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  const std::optional<WallTime> until = lease_end(spec_of(object).lease, wait);
  json mode = mode_patch(api, true);
  if (!is_claim(object)) mode["spec"].update(lifetime_patch(false, until)["spec"]);
  if (is_claim(object) && until) {
    SKIFF_CO_TRY_VOID(co_await patch(object, lifetime_patch(true, until)));
  }
  SKIFF_CO_TRY(auto resumed, co_await patch(std::move(sandbox), std::move(mode)));
  co_return co_await bring_up(std::move(object), std::move(resumed), false, std::move(lost_with), deadline,
                              std::move(progress));
}

Task<Result<Sandbox>> ClaimDriver::start(std::string name, milliseconds wait, Progress progress) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + wait;
  const auto waiting = cluster_->client().transport().wait_until(deadline);
  SKIFF_CO_TRY(auto object, co_await answered_by(deadline, find(std::move(name))));
  SKIFF_CO_TRY(auto view, co_await answered_by(deadline, look(std::move(object))));
  object = std::move(view.object);
  if (view.now.state == SandboxState::running && !lacks_note(object)) co_return std::move(view.now);
  const std::string lost_with = loss_before_start(object, view.now);
  if (view.now.state == SandboxState::running || view.now.state == SandboxState::creating) {
    // Another process is creating or starting it, or was killed while it did.
    co_return co_await answered_by(deadline, bring_up(object, object, false, lost_with, deadline, std::move(progress)));
  }
  // The Pod of an agent that has ended, or one that took its place, still exists, and must be removed first.
  SKIFF_CO_TRY(auto sandbox, co_await answered_by(deadline, suspend(object, lost_with, {.patience = wait})));
  auto work = resume(object, std::move(sandbox), lost_with, deadline, std::move(progress));
  // Undo it by stopping the sandbox again.
  co_return co_await undo_unless(
      std::move(work), [&](milliseconds patience) { return stop_again(object, patience); }, kLateArrival,
      deadline + kHostPatience);
}

Task<Result<>> ClaimDriver::set_label(std::string name, std::string label, std::string value) {
  SKIFF_CO_TRY(auto object, co_await find(std::move(name)));
  SandboxSpec spec = spec_of(object);
  spec.labels[label] = value;
  Object labelled;
  labels::put_user_labels(labelled, {{std::move(label), std::move(value)}});
  json change = spec_patch(spec);
  change.merge_patch(labelled.json);
  SKIFF_CO_TRY_VOID(co_await patch(std::move(object), std::move(change)));
  co_return Result<>{};
}

Task<Result<bool>> ClaimDriver::stop_again(Object object, milliseconds patience) {
  auto now = co_await find(labels::get(object, labels::kName));
  if (!now && now.error().code == Errc::sandbox_not_found) co_return true;
  if (!now) co_return std::unexpected{std::move(now.error())};
  // Another client may have removed the sandbox, and created another one.
  if (now->uid() != object.uid()) co_return true;
  const bool waits = patience.count() > 0;
  const auto noted = noted_pod(*now);
  std::string lost_with = noted ? noted->lost_with : std::string{};
  auto suspended = co_await suspend(std::move(*now), std::move(lost_with), {.wait = waits, .patience = patience});
  if (suspended) co_return true;
  if (suspended.error().code != Errc::timeout) co_return std::unexpected{std::move(suspended.error())};
  co_return false;
}

Task<Result<bool>> ClaimDriver::remove(std::string name, Removal how) {
  return remove_if(std::move(name), {}, std::move(how));
}

Task<Result<bool>> ClaimDriver::remove_if(std::string name, std::string id, Removal how) {
  SKIFF_CO_TRY_VOID(refuse_haste(how));
  const Semaphore::Permit permit = co_await removals_.acquire();
  auto object = co_await find(std::move(name));
  if (!object && object.error().code == Errc::sandbox_not_found) co_return false;
  if (!object) co_return std::unexpected{std::move(object.error())};
  if (!id.empty() && describe_claim(*object).id != id) co_return false;
  if (how.only_if) {
    auto view = co_await look(*object);
    if (!view && view.error().code == Errc::sandbox_not_found) co_return false;
    if (!view) co_return std::unexpected{std::move(view.error())};
    if (!how.only_if(view->now)) co_return false;
  }
  SKIFF_CO_TRY_VOID(co_await remove_found(std::move(*object), std::move(how)));
  co_return true;
}

Task<Result<>> ClaimDriver::remove_found(Object object, Removal how) {
  SKIFF_CO_TRY(auto api, co_await pools_.api());
  SKIFF_CO_TRY(auto sandbox, co_await sandbox_of(cluster_, api, object));
  co_return co_await remove_claim(cluster_, api, std::move(object), std::move(sandbox), std::move(how));
}

Task<Result<Sandbox>> ClaimDriver::extend(std::string name, Lease lease, milliseconds wait) {
  const auto waiting = cluster_->client().transport().wait_until(std::chrono::steady_clock::now() + wait);
  SKIFF_CO_TRY(auto view, co_await find_running(std::move(name)));
  SandboxSpec spec = spec_of(view.object);
  SKIFF_CO_TRY(auto target, target_of(view));
  SKIFF_CO_TRY(auto endpoint, co_await endpoint_of(std::move(target), spec.owner, {}));
  json body = json::object();
  if (lease.ttl) body["ttl_ms"] = lease.ttl->count();
  if (lease.idle_ttl) body["idle_ttl_ms"] = lease.idle_ttl->count();
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  std::string text = body.dump();
  SKIFF_CO_TRY_VOID(co_await agent.post("/v1/lease", std::move(text)));
  if (lease.ttl) spec.lease.ttl = lease.ttl;
  if (lease.idle_ttl) spec.lease.idle_ttl = lease.idle_ttl;
  json change = spec_patch(spec);
  if (spec.lease.ttl) change.merge_patch(lifetime_patch(is_claim(view.object), lease_end(spec.lease, {})));
  SKIFF_CO_TRY(auto written, co_await patch(std::move(view.object), std::move(change)));
  co_return describe_claim(written);
}

Task<Result<Endpoint>> ClaimDriver::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto view, co_await find_running(std::move(name)));
  SKIFF_CO_TRY(auto target, target_of(view));
  std::string owner = labels::get(view.object, labels::kOwner);
  co_return co_await endpoint_of(std::move(target), std::move(owner), std::move(grant));
}

Task<Result<protocol::Stream>> ClaimDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto view, co_await find_running(std::move(name)));
  SKIFF_CO_TRY(auto target, target_of(view));
  co_return co_await reach_.dial(std::move(target), port);
}

Task<std::vector<Check>> ClaimDriver::examine() {
  // Templates decide which image contains the agent.
  ClusterQuestions questions{.driver = ClusterDriver::claim,
                             .namespace_name = cluster_->namespace_name(),
                             .inject = false,
                             .name_prefix = cluster_->options().name_prefix};
  co_return co_await examine_cluster(&cluster_->client(), std::move(questions));
}

}  // namespace skiff::container
