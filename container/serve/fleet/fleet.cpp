#include "container/serve/fleet/fleet.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/id.hpp"
#include "base/log/log.hpp"
#include "container/sandbox/garbage.hpp"
#include "container/serve/fleet/fleet_change.hpp"
#include "container/serve/fleet/host_rules.hpp"
#include "container/serve/keys/access_token.hpp"

namespace skiff::container::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartPatience{120'000};
constexpr milliseconds kExtendPatience{30'000};
/// Most bytes of labels on a page: a client asks for the next page.
constexpr std::size_t kPageBytes = std::size_t{1} << 20U;
/// Number of letters behind the first one in an id of `new_id`.
constexpr std::size_t kIdLetters = 20;

/// The digest that distinguishes a request from another one with the same name or Idempotency-Key.
std::string request_digest(const CreateRequest& request) {
  return sha256_hex(request.idempotency_key + "\n" + request.request).substr(0, kIdLetters);
}

/// The digest of the Idempotency-Key in the record of a sandbox.
std::string creation_digest(std::string_view idempotency_key) {
  return sha256_hex(idempotency_key).substr(0, kIdLetters);
}

bool fulfils(const Sandbox& sandbox, const RemovalPrecondition& precondition) {
  return (precondition.uid.empty() || sandbox.id == precondition.uid) &&
         (!precondition.state || sandbox.state == *precondition.state) &&
         (precondition.idempotency_key.empty() ||
          own_label(sandbox, kCreationLabel) == creation_digest(precondition.idempotency_key));
}

/// True if a stopped sandbox keeps its files: always on this machine; in a Pod only on volumes.
bool would_keep_files(const Driver& driver, const SandboxSpec& spec) {
  return is_of_this_machine(driver.name()) || keeps_files(spec);
}

Error would_lose_files(std::string field) {
  return {.code = Errc::not_supported,
          .message =
              "a stopped sandbox would lose its files, because its template has no volume: add pod: {volumes: "
              "[\"SIZE:PATH\"]} in the file of --templates",
          .field = std::move(field)};
}

/// True if the process that created it was killed.
bool is_left_alone(const Sandbox& sandbox) {
  return sandbox.was_never_up && is_made_id(sandbox.name) && own_label(sandbox, kCreationLabel).empty();
}

/// True if it came up nevertheless, and its client knows its id.
bool is_found_again(const Sandbox& sandbox) {
  return is_left_alone(sandbox) && sandbox.state == SandboxState::running && !own_label(sandbox, kToldLabel).empty();
}

/// True if no client can ask for it again: for that a client needs a name of its own, an Idempotency-Key, or the id
/// that it got before the sandbox was up.
bool is_lost(const Sandbox& sandbox) {
  return is_left_alone(sandbox) && !is_found_again(sandbox);
}

/// True if it is not needed any more.
bool is_to_go(const Sandbox& sandbox) {
  if (is_over(sandbox) || is_lost(sandbox)) return true;
  const bool is_half = sandbox.state == SandboxState::failed || sandbox.state == SandboxState::creating ||
                       sandbox.state == SandboxState::ended;
  return is_half && on_end(sandbox) == OnEnd::remove && has_outlived(sandbox, wall_now());
}

}  // namespace

bool is_made_id(std::string_view id) {
  return id.size() == 1 + kIdLetters && id.front() == 's' && !id.contains('-');
}

Task<Result<Fleet::Found>> Fleet::find(std::string tenant, std::string id, Reading reading) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  if (reading == Reading::to_change) SKIFF_CO_TRY_VOID(co_await driver->check_answers());
  auto found = co_await (reading == Reading::recent ? driver->get_recent(id) : driver->get(id));
  if (found && found->owner == tenant && !is_over(*found)) co_return Found{driver, std::move(*found)};
  if (!found && found.error().code != Errc::sandbox_not_found) co_return std::unexpected{std::move(found.error())};
  // This includes a sandbox whose record cannot be read, because its owner is unknown.
  co_return std::unexpected{no_such_sandbox(id)};
}

Task<Result<SandboxSpec>> Fleet::spec_of(const Driver* driver, ApiKey key, std::string id, CreateRequest request) {
  const SandboxSpec* base = templates_->find(request.template_name);
  if (base == nullptr) {
    co_return fail(Errc::not_found,
                   "there is no template \"" + request.template_name + "\": there are " + templates_->names() +
                       "; the operator of the server adds templates and aliases with --templates "
                       "(docs/serve-operating.md#templates)",
                   "template");
  }
  SKIFF_CO_TRY(auto labels, kept_labels(request.labels));
  std::string nonce = new_nonce();
  SKIFF_CO_TRY(auto token, co_await access_token_of(key.tenant, id, nonce));
  SKIFF_CO_TRY_VOID(check_request(*driver, *base, request));
  SandboxSpec spec = *base;
  spec.name = std::move(id);
  spec.owner = key.tenant;
  spec.labels = std::move(labels);
  spec.labels[std::string{kKeyLabel}] = key.name;
  spec.labels[std::string{kTemplateLabel}] = request.template_name;
  spec.labels[std::string{kNonceLabel}] = std::move(nonce);
  spec.labels[std::string{kOnEndLabel}] = on_end_word(request.on_end);
  if (!would_keep_files(*driver, spec)) {
    if (request.on_end == OnEnd::stop) co_return std::unexpected{would_lose_files("on_end")};
    spec.labels[std::string{kFilesLabel}] = kLost;
  }
  if (request.is_told_at_once) spec.labels[std::string{kToldLabel}] = "yes";
  if (!request.wakes) spec.labels[std::string{kWakeLabel}] = "no";
  spec.labels[std::string{kRequestLabel}] = request_digest(request);
  if (!request.idempotency_key.empty())
    spec.labels[std::string{kCreationLabel}] = creation_digest(request.idempotency_key);
  if (!request.owner.empty()) spec.labels[std::string{kOwnerLabel}] = request.owner;
  for (auto& [name, value] : request.env) {
    if (name.starts_with("SKIFF_")) {
      co_return fail(Errc::invalid_field, "variables that begin with SKIFF_ configure the agent", "env");
    }
    spec.env[name] = std::move(value);
  }
  if (!is_claimed(*driver, spec)) {
    spec.env["SKIFF_E2B_TOKEN_SHA256"] = sha256_hex(token);
    if (std::ranges::count(spec.pod.dialects, kE2bName) == 0) spec.pod.dialects.emplace_back(kE2bName);
  }
  spec.lease = request.lease;
  if (request.network) spec.pod.network = *request.network;
  if (request.egress) {
    spec.egress = std::move(*request.egress);
    spec.is_fenced = true;
    // The names are all that is open, whatever the template opens.
    spec.pod.network = PodOptions{}.network;
    spec.names_network = false;
  }
  co_return spec;
}

Task<Result<std::string>> Fleet::id_for(std::string tenant, CreateRequest request) {
  if (!request.name.empty()) {
    SKIFF_CO_TRY_VOID(check_name(request.name));
    if (!is_made_id(request.name)) co_return std::move(request.name);
    co_return fail(Errc::invalid_field, "a name of s and 20 letters or digits is reserved for the server's ids",
                   "name");
  }
  if (request.idempotency_key.empty()) co_return new_id("s");
  SKIFF_CO_TRY(auto secret, co_await token_secret());
  const std::string code = derived_secret(secret, "idempotency/" + tenant + "/" + request.idempotency_key);
  co_return "s" + code.substr(0, kIdLetters);
}

Task<Result<Made>> Fleet::found_again(Driver* driver, ApiKey key, CreateRequest request, Progress progress) {
  auto found = co_await driver->get(request.id);
  if (!found) co_return std::unexpected{std::move(found.error())};
  const bool is_his = found->owner == key.tenant;
  if (is_his && is_over(*found)) {
    Removal how = swift_removal(*driver);
    how.only_if = is_over;
    SKIFF_CO_TRY_VOID(co_await driver->remove_if(request.id, found->id, std::move(how)));
    co_return std::unexpected{no_such_sandbox(request.id)};
  }
  const bool is_the_same =
      !request.idempotency_key.empty() && own_label(*found, kRequestLabel) == request_digest(request);
  if (!is_his || (!is_the_same && !request.get_or_create)) {
    if (!request.name.empty())
      co_return fail(Errc::sandbox_conflict, "the name \"" + request.name + "\" is taken", "name");
    co_return fail(Errc::sandbox_conflict, "the Idempotency-Key was used for another request", "Idempotency-Key");
  }
  // `start` waits for the process that creates it.
  if (found->state == SandboxState::creating) progress(Phase::scheduling, "another request creates it");
  if (found->state == SandboxState::creating || found->state == SandboxState::failed ||
      (found->state != SandboxState::running && request.get_or_create)) {
    // This includes sandboxes that a killed process has left: a client that asks again wants a running one.
    found = co_await start_found({driver, std::move(*found)}, std::move(key), std::nullopt, std::move(progress));
  }
  if (!found) co_return std::unexpected{std::move(found.error())};
  co_return Made{.sandbox = std::move(*found), .is_new = false};
}

Task<Result<Made>> Fleet::create(ApiKey key, CreateRequest request, Progress progress) {
  const SteadyTime began = std::chrono::steady_clock::now();
  CountedEnd end{&counts_.creations, key.tenant};
  auto made = co_await create_once(std::move(key), std::move(request), std::move(progress));
  if (!made) {
    end.failed(made.error());
  } else if (!made->is_new) {
    end.existing();
  } else {
    end.done();
    counts_.bring_up[0].observe(std::chrono::duration<double>{std::chrono::steady_clock::now() - began}.count());
  }
  co_return made;
}

Task<Result<Made>> Fleet::create_once(ApiKey key, CreateRequest request, Progress progress) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(key.tenant));
  SKIFF_CO_TRY_VOID(co_await driver->check_answers());
  if (request.id.empty()) {
    SKIFF_CO_TRY(auto id, co_await id_for(key.tenant, request));
    request.id = std::move(id);
  }
  const Change change{this, key.tenant, request.id};
  const bool may_be_there = !request.name.empty() || !request.idempotency_key.empty();
  if (may_be_there) {
    auto found = co_await found_again(driver, key, request, progress);
    if (found || found.error().code != Errc::sandbox_not_found) co_return found;
  }
  SKIFF_CO_TRY(auto spec, co_await spec_of(driver, key, request.id, request));
  if (request.on_end == OnEnd::stop) SKIFF_CO_TRY_VOID(co_await admit_kept(driver, key));
  SKIFF_CO_TRY(auto place, co_await admit(driver, key, request.id));
  SKIFF_CO_TRY_VOID(admission_.count_creation(key, std::chrono::steady_clock::now()));
  const bool is_warm = !spec.pod.pool.empty() || is_claimed(*driver, spec);
  auto made = co_await driver->create(std::move(spec), progress);
  // A creation that fails later counts, because it has cost as much as a successful one.
  const bool was_there = !made && made.error().code == Errc::sandbox_conflict;
  if (was_there) admission_.forget_creation(key);
  if (was_there && may_be_there) {
    co_return co_await found_again(driver, std::move(key), std::move(request), std::move(progress));
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  if (is_warm) {
    SKIFF_CO_TRY(auto token, co_await access_token_of(key.tenant, request.id, nonce_of(*made)));
    auto told = co_await tell_access_token(driver, request.id, std::move(token));
    if (!told) {
      (void)co_await driver->remove_if(made->name, made->id, swift_removal(*driver));
      co_return std::unexpected{std::move(told.error())};
    }
  }
  // Another process may have taken the last place, too. Each process counts again after its record exists, so none is
  // missed.
  SKIFF_CO_TRY(auto too_many, co_await has_too_many(driver, key));
  if (too_many) {
    SKIFF_CO_TRY_VOID(co_await driver->remove_if(made->name, made->id, swift_removal(*driver)));
    co_return std::unexpected{too_many_sandboxes(key)};
  }
  co_return Made{.sandbox = std::move(*made), .is_new = true};
}

Task<Result<Sandbox>> Fleet::get(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), std::move(id)));
  co_return std::move(found.sandbox);
}

Task<Result<SandboxPage>> Fleet::list(std::string tenant, SandboxFilter filter) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  SKIFF_CO_TRY(auto labels, kept_labels(filter.labels));
  if (filter.owner) labels[std::string{kOwnerLabel}] = *filter.owner;
  filter.owner = std::move(tenant);
  filter.damaged = false;
  filter.most_bytes = kPageBytes;
  filter.labels = std::move(labels);
  filter.copies_will_do = true;
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  std::erase_if(page.items, is_over);
  co_return page;
}

Task<Result<std::vector<Sandbox>>> Fleet::all(std::string tenant) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  // Copies do not change while the host is away.
  SKIFF_CO_TRY_VOID(co_await driver->check_answers());
  SandboxFilter filter{.owner = std::move(tenant),
                       .damaged = false,
                       .limit = std::numeric_limits<std::size_t>::max(),
                       .copies_will_do = true,
                       .reads_copies = true};
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  std::erase_if(page.items, is_over);
  co_return std::move(page.items);
}

Task<Result<std::unique_ptr<ListWatch>>> Fleet::watch_list(std::string tenant, std::function<void()> changed) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(std::move(tenant)));
  co_return driver->watch_list(co_await boost::asio::this_coro::executor, std::move(changed));
}

Task<Result<>> Fleet::stop(std::string tenant, std::string id, Removal how) {
  const Change change{this, tenant, id};
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id, Reading::to_change));
  SKIFF_CO_TRY_VOID(check_removal(*found.driver, how));
  if (!keeps_files(found.sandbox)) co_return std::unexpected{would_lose_files({})};
  std::unique_ptr<Keeping> keeping;
  if (takes_a_place(found.sandbox)) {
    SKIFF_CO_TRY(auto payer, co_await key_of(found.sandbox));
    if (payer) {
      SKIFF_CO_TRY(keeping, co_await admit_kept(found.driver, std::move(*payer)));
    }
  }
  co_return co_await found.driver->stop(std::move(id), std::move(how));
}

Task<Result<Sandbox>> Fleet::start_found(Found found, ApiKey key, std::optional<milliseconds> ttl, Progress progress) {
  const std::string id = found.sandbox.name;
  const Change change{this, key.tenant, id};
  SKIFF_CO_TRY_VOID(co_await found.driver->check_answers());
  SKIFF_CO_TRY(auto payer, co_await key_of(found.sandbox));
  const bool is_handed_over = !payer || payer->sha256 != key.sha256;
  std::optional<Admission::Permit> payers_permit;
  if (payer && is_handed_over) {
    SKIFF_CO_TRY(auto place, co_await admit(found.driver, *payer, id));
    payers_permit.emplace(std::move(place));
  }
  SKIFF_CO_TRY(auto place, co_await admit(found.driver, key, id));
  auto started = co_await found.driver->start(id, kStartPatience, std::move(progress));
  if (!started) co_return started;
  // From now on it counts for the key that has started it.
  if (is_handed_over && own_label(*started, kKeyLabel) != key.name) {
    auto labelled = co_await found.driver->set_label(id, std::string{kKeyLabel}, key.name);
    // If the driver cannot change labels, it stays with the previous key.
    if (!labelled && labelled.error().code != Errc::not_supported) {
      (void)co_await found.driver->stop(id, swift_removal(*found.driver));
      co_return std::unexpected{std::move(labelled.error())};
    }
    if (labelled) started->labels[std::string{kKeyLabel}] = key.name;
  }
  SKIFF_CO_TRY(auto too_many, co_await has_too_many(found.driver, key));
  if (too_many) {
    SKIFF_CO_TRY_VOID(co_await found.driver->stop(id, swift_removal(*found.driver)));
    co_return std::unexpected{too_many_sandboxes(key)};
  }
  if (!ttl) co_return started;
  co_return co_await found.driver->extend(id, {.ttl = ttl}, kExtendPatience);
}

Task<Result<Sandbox>> Fleet::start(ApiKey key, std::string id, std::optional<milliseconds> ttl) {
  SKIFF_CO_TRY(auto found, co_await find(key.tenant, id));
  if (found.sandbox.state == SandboxState::running) co_return std::move(found.sandbox);
  co_return co_await start_found(std::move(found), std::move(key), ttl, unwatched);
}

Task<Result<>> Fleet::wake(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto found, co_await find(tenant, id));
  if (found.sandbox.state == SandboxState::running) co_return Result<>{};
  // Wait for a sandbox that another request is starting.
  const bool is_to_sleep = own_label(found.sandbox, kWakeLabel) == "no" || !keeps_files(found.sandbox);
  if (is_to_sleep && found.sandbox.state != SandboxState::creating)
    co_return std::unexpected{not_running(found.sandbox)};
  SKIFF_CO_TRY(auto payer, co_await key_of(found.sandbox));
  if (!payer) co_return std::unexpected{not_running(found.sandbox)};
  CountedEnd end{&counts_.wakes, tenant};
  auto started = co_await start_found(std::move(found), std::move(*payer), std::nullopt, unwatched);
  if (!started) {
    end.failed(started.error());
    audit_deed(audit_, "wake", tenant, id, started.error());
    co_return std::unexpected{std::move(started.error())};
  }
  end.done();
  audit_deed(audit_, "wake", tenant, id, {});
  co_return Result<>{};
}

Task<Result<Sandbox>> Fleet::extend(std::string tenant, std::string id, Lease lease) {
  const Change change{this, tenant, id};
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id, Reading::to_change));
  co_return co_await found.driver->extend(std::move(id), lease, kExtendPatience);
}

Task<Result<>> Fleet::remove(std::string tenant, std::string id, Removal how, RemovalPrecondition precondition) {
  const Change change{this, tenant, id};
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), std::move(id), Reading::to_change));
  const Sandbox& seen = found.sandbox;
  if (!fulfils(seen, precondition)) co_return std::unexpected{no_such_sandbox(seen.name)};
  SKIFF_CO_TRY_VOID(check_removal(*found.driver, how));
  if (!how.grace) how.grace = swift_removal(*found.driver).grace;
  // The uid guarantees everything except the state.
  if (precondition.state)
    how.only_if = [state = *precondition.state](const Sandbox& now) { return now.state == state; };
  SKIFF_CO_TRY(const bool removed, co_await found.driver->remove_if(seen.name, seen.id, std::move(how)));
  // Another request was faster, or the sandbox has changed.
  if (!removed) co_return std::unexpected{no_such_sandbox(seen.name)};
  co_return Result<>{};
}

Task<Result<FreshSandbox>> Fleet::look_up(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  auto freshness = driver->freshness(id);
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), std::move(id), Reading::recent));
  if (freshness && !freshness->holds()) freshness.reset();
  co_return FreshSandbox{.sandbox = std::move(found.sandbox), .freshness = std::move(freshness)};
}

Task<Result<Endpoint>> Fleet::endpoint(std::string tenant, std::string id, TokenGrant grant) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id, Reading::recent));
  co_return co_await found.driver->endpoint(std::move(id), std::move(grant));
}

Task<Result<protocol::Stream>> Fleet::dial(std::string tenant, std::string id, std::uint16_t port) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id, Reading::recent));
  // Otherwise the program that listens there is not its agent; on this machine it may be any program.
  if (own_label(found.sandbox, kTemplateLabel).empty()) {
    co_return fail(Errc::not_supported, "only sandboxes that this server has created serve E2B's clients");
  }
  co_return co_await found.driver->dial(std::move(id), port);
}

Task<Result<std::optional<Fleet::ShownToken>>> Fleet::shown_token(std::string id, std::string shown) {
  SKIFF_CO_TRY(auto secret, co_await token_secret());
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  const std::string nonce = shown.substr(0, kNonceLetters);
  // Compare digests, so that the time does not reveal how much of the token is right.
  const std::string digest = sha256_hex(shown);
  std::optional<ShownToken> found;
  for (const std::string& tenant : all) {
    std::string token = access_token(secret, tenant, id, nonce);
    const bool is_traffic = sha256_hex(traffic_token(token, nonce)) == digest;
    if (is_traffic || sha256_hex(token) == digest) found = {tenant, std::move(token), is_traffic};
  }
  co_return found;
}

Task<Result<>> Fleet::sweep() {
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  LabelledNumbers seen = FleetCounts::no_sandboxes();
  for (const std::string& tenant : all) {
    counts_.know(tenant);
    if (auto swept = co_await sweep_tenant(tenant, &seen); !swept) {
      log::warning("cannot look for expired sandboxes", {{"tenant", tenant}, {"error", swept.error().message}});
    }
  }
  counts_.sandboxes = std::move(seen);
  co_return Result<>{};
}

Task<Result<>> Fleet::sweep_tenant(std::string tenant, LabelledNumbers* seen) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  SKIFF_CO_TRY_VOID(co_await driver->check_answers());
  // Read all at once: a driver may read everything for each page.
  SandboxFilter filter{.owner = tenant, .damaged = false, .limit = std::numeric_limits<std::size_t>::max()};
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  const auto counted = seen->of({tenant});
  for (const Sandbox& one : page.items) ++counted[static_cast<std::size_t>(one.state)];
  for (const Sandbox& one : page.items) {
    if (own_label(one, kOnEndLabel) == on_end_word(OnEnd::remove)) co_await sweep_one(driver, one);
  }
  co_return Result<>{};
}

Task<> Fleet::sweep_one(Driver* driver, Sandbox seen) {
  if (is_found_again(seen)) {
    // `endpoint` notes that it is up, so that it later counts as a sandbox that was in use.
    (void)co_await driver->endpoint(seen.name, {.scope = "read"});
    co_return;
  }
  if (!is_to_go(seen)) co_return;
  Removal how = swift_removal(*driver);
  how.only_if = is_to_go;
  auto removed = co_await driver->remove_if(seen.name, seen.id, std::move(how));
  if (removed && *removed) audit_deed(audit_, "removal", seen.owner, seen.name, {});
  if (removed) co_return;
  audit_deed(audit_, "removal", seen.owner, seen.name, removed.error());
  log::warning("cannot remove an expired sandbox", {{"sandbox", seen.name}, {"error", removed.error().message}});
}

Task<Result<std::string>> Fleet::token_secret() {
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  if (ring->token_secret.empty()) co_return fail(Errc::unauthenticated, "there are no API keys yet");
  co_return ring->token_secret;
}

Task<Result<std::string>> Fleet::access_token_of(std::string tenant, std::string id, std::string nonce) {
  SKIFF_CO_TRY(auto secret, co_await token_secret());
  co_return access_token(secret, tenant, id, nonce);
}

Task<Result<std::string>> Fleet::traffic_token_of(std::string tenant, std::string id, std::string nonce) {
  SKIFF_CO_TRY(auto token, co_await access_token_of(std::move(tenant), std::move(id), nonce));
  co_return traffic_token(token, nonce);
}

}  // namespace skiff::container::serve
