#include "container/serve/fleet.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/id.hpp"
#include "base/log.hpp"
#include "container/sandbox/garbage.hpp"
#include "container/serve/access_token.hpp"

namespace skiff::container::serve {
namespace {

using std::chrono::milliseconds;

/// For what runs in a sandbox that is removed: its client has said that he needs nothing of it any more.
constexpr std::chrono::seconds kRemovalGrace{2};
constexpr milliseconds kStartPatience{120'000};
constexpr milliseconds kExtendPatience{30'000};
constexpr std::size_t kPage = 500;
/// Sandboxes whose tenants are known.
constexpr std::size_t kMostRemembered = 10'000;
/// Letters of an id behind its first one, as `new_id` has it.
constexpr std::size_t kIdLetters = 20;

Progress silent() {
  return [](Phase, std::string_view) {};
}

/// What the machine itself has stays there. Of a Pod nothing does but what is on volumes.
bool would_keep_files(const Driver& driver, const SandboxSpec& spec) {
  if (driver.name() == "local") return true;
  return std::ranges::any_of(spec.pod.volumes, [](const std::string& text) {
    const auto volume = parse_volume(text);
    return volume && (volume->kind == Volume::Kind::own || volume->kind == Volume::Kind::claim);
  });
}

Error would_lose_files(std::string field) {
  return {.code = Errc::not_supported,
          .message =
              "a sandbox that is stopped loses its files where its template has no volume: "
              "in the file of --templates, pod: {volumes: [\"SIZE:PATH\"]}",
          .field = std::move(field)};
}

/// Nobody will want it any more.
bool is_to_go(const Sandbox& sandbox) {
  if (is_over(sandbox)) return true;
  const bool is_half = sandbox.state == SandboxState::failed || sandbox.state == SandboxState::creating ||
                       sandbox.state == SandboxState::ended;
  return is_half && on_end(sandbox) == OnEnd::remove && has_outlived(sandbox, wall_now());
}

bool takes_a_place(const Sandbox& sandbox) {
  return sandbox.state == SandboxState::running || sandbox.state == SandboxState::creating;
}

}  // namespace

Task<Result<Fleet::Found>> Fleet::find(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  auto found = co_await driver->get(id);
  if (found && found->owner == tenant && !is_over(*found)) co_return Found{driver, std::move(*found)};
  if (!found && found.error().code != Errc::sandbox_not_found) co_return std::unexpected{std::move(found.error())};
  co_return std::unexpected{no_such_sandbox(id)};
}

Task<Result<SandboxSpec>> Fleet::spec_of(const Driver* driver, ApiKey key, std::string id, Wish wish) {
  const SandboxSpec* base = templates_->find(wish.template_name);
  if (base == nullptr) {
    co_return fail(Errc::not_found,
                   "there is no template \"" + wish.template_name + "\": there are " + templates_->names(), "template");
  }
  SKIFF_CO_TRY(auto labels, kept_labels(wish.labels));
  SKIFF_CO_TRY(auto token, co_await access_token_of(id));
  SandboxSpec spec = *base;
  spec.name = std::move(id);
  spec.owner = key.tenant;
  spec.labels = std::move(labels);
  spec.labels[std::string{kKeyLabel}] = key.name;
  spec.labels[std::string{kTemplateLabel}] = wish.template_name;
  spec.labels[std::string{kOnEndLabel}] = on_end_word(wish.on_end);
  if (!would_keep_files(*driver, spec)) {
    if (wish.on_end == OnEnd::stop) co_return std::unexpected{would_lose_files("on_end")};
    spec.labels[std::string{kFilesLabel}] = kLost;
  }
  if (!wish.wakes) spec.labels[std::string{kWakeLabel}] = "no";
  spec.labels[std::string{kRequestLabel}] = sha256_hex(wish.request).substr(0, kIdLetters);
  for (auto& [name, value] : wish.env) {
    if (name.starts_with("SKIFF_")) {
      co_return fail(Errc::invalid_field, "variables that begin with SKIFF_ configure the agent", "env");
    }
    spec.env[name] = std::move(value);
  }
  spec.env["SKIFF_E2B_TOKEN_SHA256"] = sha256_hex(token);
  if (std::ranges::count(spec.pod.dialects, "e2b") == 0) spec.pod.dialects.emplace_back("e2b");
  spec.lease = wish.lease;
  if (wish.network) spec.pod.network = *wish.network;
  co_return spec;
}

Task<Result<std::set<std::string>>> Fleet::running(Driver* driver, ApiKey key) {
  std::set<std::string> ids;
  SandboxFilter filter{.owner = key.tenant, .labels = {{std::string{kKeyLabel}, key.name}}, .limit = kPage};
  do {
    SKIFF_CO_TRY(auto page, co_await driver->list(filter));
    for (const Sandbox& one : page.items) {
      if (takes_a_place(one)) ids.insert(one.name);
    }
    filter.cursor = std::move(page.next);
  } while (!filter.cursor.empty());
  co_return ids;
}

Task<Result<Admission::Place>> Fleet::admit(Driver* driver, ApiKey key, std::string id) {
  std::set<std::string> ids;
  if (key.max_sandboxes != 0) {
    SKIFF_CO_TRY(auto known, co_await running(driver, key));
    ids = std::move(known);
  }
  co_return admission_.enter(key, id, std::move(ids));
}

Task<Result<Made>> Fleet::found_again(Driver* driver, std::string tenant, std::string id, std::string request) {
  auto found = co_await driver->get(id);
  if (!found) co_return std::unexpected{std::move(found.error())};
  if (found->owner != tenant) co_return std::unexpected{no_such_sandbox(id)};
  if (is_over(*found)) {
    Removal how{.grace = kRemovalGrace};
    how.only_if = is_over;
    SKIFF_CO_TRY_VOID(co_await driver->remove_if(id, found->id, std::move(how)));
    co_return std::unexpected{no_such_sandbox(id)};
  }
  if (own_label(*found, kRequestLabel) != sha256_hex(request).substr(0, kIdLetters)) {
    co_return fail(Errc::sandbox_conflict, "the Idempotency-Key was used for another request", "Idempotency-Key");
  }
  // `start` waits for whoever is making it.
  if (found->state == SandboxState::creating) found = co_await driver->start(id, kStartPatience, silent());
  if (!found) co_return std::unexpected{std::move(found.error())};
  co_return Made{.sandbox = std::move(*found), .is_new = false};
}

Task<Result<Made>> Fleet::create(ApiKey key, Wish wish) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(key.tenant));
  std::string id = new_id("s");
  if (!wish.idempotency_key.empty()) {
    SKIFF_CO_TRY(auto code, co_await access_token_of("idempotency/" + key.tenant + "/" + wish.idempotency_key));
    id = "s" + code.substr(0, kIdLetters);
    auto found = co_await found_again(driver, key.tenant, id, wish.request);
    if (found || found.error().code != Errc::sandbox_not_found) co_return found;
  }
  const std::string request = wish.request;
  const bool may_be_there = !wish.idempotency_key.empty();
  SKIFF_CO_TRY(auto spec, co_await spec_of(driver, key, id, std::move(wish)));
  SKIFF_CO_TRY(auto place, co_await admit(driver, key, id));
  SKIFF_CO_TRY_VOID(admission_.count_creation(key, std::chrono::steady_clock::now()));
  const bool is_warm = !spec.pod.pool.empty();
  auto made = co_await driver->create(std::move(spec), silent());
  if (!made) admission_.forget_creation(key);
  if (!made && may_be_there && made.error().code == Errc::sandbox_conflict) {
    co_return co_await found_again(driver, key.tenant, id, request);
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  if (is_warm) {
    SKIFF_CO_TRY(auto token, co_await access_token_of(id));
    auto told = co_await tell_access_token(driver, id, std::move(token));
    if (!told) {
      (void)co_await driver->remove_if(made->name, made->id, {.grace = kRemovalGrace});
      co_return std::unexpected{std::move(told.error())};
    }
  }
  if (key.max_sandboxes != 0) {
    // Another process may have taken the last place, too. Each looks after its own is there, so none is overlooked.
    SKIFF_CO_TRY(auto all, co_await running(driver, key));
    if (all.size() > key.max_sandboxes) {
      SKIFF_CO_TRY_VOID(co_await driver->remove_if(made->name, made->id, {.grace = kRemovalGrace}));
      co_return fail(Errc::too_many_sandboxes,
                     "this API key may have " + std::to_string(key.max_sandboxes) + " sandboxes at the same time");
    }
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
  filter.owner = std::move(tenant);
  filter.labels = std::move(labels);
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  std::erase_if(page.items, is_over);
  co_return page;
}

Task<Result<>> Fleet::stop(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id));
  if (!keeps_files(found.sandbox)) co_return std::unexpected{would_lose_files({})};
  co_return co_await found.driver->stop(std::move(id), {});
}

Task<Result<Sandbox>> Fleet::start_found(Found found, std::optional<milliseconds> ttl) {
  const std::string id = found.sandbox.name;
  auto started = co_await found.driver->start(id, kStartPatience, silent());
  if (!started || !ttl) co_return started;
  co_return co_await found.driver->extend(id, {.ttl = ttl}, kExtendPatience);
}

Task<Result<Sandbox>> Fleet::start(ApiKey key, std::string id, std::optional<milliseconds> ttl) {
  SKIFF_CO_TRY(auto found, co_await find(key.tenant, id));
  if (found.sandbox.state == SandboxState::running) co_return std::move(found.sandbox);
  SKIFF_CO_TRY(auto place, co_await admit(found.driver, std::move(key), std::move(id)));
  co_return co_await start_found(std::move(found), ttl);
}

Task<Result<>> Fleet::wake(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto found, co_await find(tenant, id));
  if (found.sandbox.state == SandboxState::running) co_return Result<>{};
  // One that somebody starts just now is waited for.
  const bool is_to_sleep = own_label(found.sandbox, kWakeLabel) == "no" || !keeps_files(found.sandbox);
  if (is_to_sleep && found.sandbox.state != SandboxState::creating)
    co_return std::unexpected{not_running(found.sandbox)};
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  const std::string maker = own_label(found.sandbox, kKeyLabel);
  // Of the cluster's accounts nobody says how many they may have, and whoever asks has shown that he may.
  if (maker.starts_with(kAccountPrefix)) {
    SKIFF_CO_TRY_VOID(co_await start_found(std::move(found), std::nullopt));
    co_return Result<>{};
  }
  for (const ApiKey& key : ring->keys) {
    if (key.name != maker || key.tenant != tenant) continue;
    SKIFF_CO_TRY(auto place, co_await admit(found.driver, key, id));
    SKIFF_CO_TRY_VOID(co_await start_found(std::move(found), std::nullopt));
    co_return Result<>{};
  }
  // Its key is gone, and with it whoever has paid for it.
  co_return std::unexpected{not_running(found.sandbox)};
}

Task<Result<Sandbox>> Fleet::extend(std::string tenant, std::string id, Lease lease) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id));
  co_return co_await found.driver->extend(std::move(id), lease, kExtendPatience);
}

Task<Result<>> Fleet::remove(std::string tenant, std::string id) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), std::move(id)));
  SKIFF_CO_TRY_VOID(co_await found.driver->remove_if(found.sandbox.name, found.sandbox.id, {.grace = kRemovalGrace}));
  co_return Result<>{};
}

Task<Result<Endpoint>> Fleet::endpoint(std::string tenant, std::string id, TokenGrant grant) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id));
  co_return co_await found.driver->endpoint(std::move(id), std::move(grant));
}

Task<Result<protocol::Stream>> Fleet::dial(std::string tenant, std::string id, std::uint16_t port) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id));
  co_return co_await found.driver->dial(std::move(id), port);
}

Task<Result<std::string>> Fleet::tenant_of(std::string id) {
  if (const auto seen = whose_.find(id); seen != whose_.end()) {
    std::string tenant = seen->second;
    if (co_await find(tenant, id)) co_return tenant;
  }
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  Error unknown = no_such_sandbox(id);
  for (const std::string& tenant : all) {
    auto found = co_await find(tenant, id);
    if (found) {
      if (whose_.size() >= kMostRemembered) whose_.clear();
      whose_.insert_or_assign(id, tenant);
      co_return tenant;
    }
    // What this server may not look at has none of its sandboxes. Where one can't be asked now it may be there.
    const Errc code = found.error().code;
    if (code != Errc::sandbox_not_found && code != Errc::permission_denied) {
      log::warning("a tenant can't be looked at", {{"tenant", tenant}, {"error", found.error().message}});
      unknown = {.code = Errc::io_error, .message = "the sandbox can't be looked for just now: ask again"};
    }
  }
  co_return std::unexpected{std::move(unknown)};
}

Task<Result<>> Fleet::sweep() {
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  for (const std::string& tenant : all) {
    if (auto swept = co_await sweep_tenant(tenant); !swept) {
      log::warning("what is over can't be looked for", {{"tenant", tenant}, {"error", swept.error().message}});
    }
  }
  co_return Result<>{};
}

Task<Result<>> Fleet::sweep_tenant(std::string tenant) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(tenant));
  // All at once: a driver may read everything for each page.
  SandboxFilter filter{.owner = std::move(tenant),
                       .labels = {{std::string{kOnEndLabel}, std::string{on_end_word(OnEnd::remove)}}},
                       .limit = std::numeric_limits<std::size_t>::max()};
  SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
  for (const Sandbox& one : page.items) {
    if (!is_to_go(one)) continue;
    Removal how{.grace = kRemovalGrace};
    how.only_if = is_to_go;
    auto removed = co_await driver->remove_if(one.name, one.id, std::move(how));
    if (removed) continue;
    log::warning("what is over can't be removed", {{"sandbox", one.name}, {"error", removed.error().message}});
  }
  co_return Result<>{};
}

Task<Result<std::string>> Fleet::access_token_of(std::string id) {
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  if (ring->token_secret.empty()) co_return fail(Errc::unauthenticated, "there are no API keys yet");
  co_return access_token(ring->token_secret, id);
}

}  // namespace skiff::container::serve
