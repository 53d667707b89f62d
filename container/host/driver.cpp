#include "container/host/driver.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/log/log.hpp"
#include "container/agent/client.hpp"
#include "container/host/agent.hpp"
#include "container/host/file_lock.hpp"
#include "container/host/freshness.hpp"
#include "container/sandbox/dialects.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Longer than the agent's own drain (10 s), so that commands get their grace.
constexpr milliseconds kStopGrace{15'000};
constexpr milliseconds kLockPatience{60'000};
constexpr std::string_view kLoopback = "127.0.0.1";

/// The end of a lease that begins now, in milliseconds since 1970.
std::optional<std::int64_t> lease_end_ms(const std::optional<milliseconds>& ttl) {
  if (!ttl) return std::nullopt;
  return (std::chrono::floor<milliseconds>(wall_now()).time_since_epoch() + *ttl).count();
}

milliseconds end_grace(const Removal& how) {
  if (how.force) return milliseconds{0};
  return how.grace ? milliseconds{*how.grace} : kStopGrace;
}

/// Whether an error is passed over, because the caller forces it: nobody can be asked to end the sandbox.
bool is_forced(const Result<>& done, const Removal& how) {
  return !done && how.force && failure_reason(done.error()) == FailureReason::no_engine;
}

bool matches(const Sandbox& sandbox, const SandboxFilter& filter) {
  if (filter.owner && sandbox.owner != *filter.owner) return false;
  if (filter.state && sandbox.state != *filter.state) return false;
  return std::ranges::all_of(filter.labels, [&](const auto& wanted) {
    const auto found = sandbox.labels.find(wanted.first);
    return found != sandbox.labels.end() && found->second == wanted.second;
  });
}

/// A sandbox whose record cannot be read: its owner is unknown.
Sandbox damaged(std::string name, std::string_view driver, const Error& error) {
  return {.name = std::move(name),
          .id = {},
          .driver = std::string{driver},
          .state = SandboxState::failed,
          .reason = error.message,
          .owner = {},
          .image = {},
          .labels = {},
          .created_at = {},
          .expires_at = {},
          .address = {},
          .details = {}};
}

}  // namespace

HostDriver::HostDriver(std::string_view name, StateDirectory state)
    : name_{name}, state_{std::move(state)}, records_{state_.path() / name} {}

Task<bool> HostDriver::lives(HostRecord record) {
  co_return is_alive(record.process());
}

Task<Sandbox> HostDriver::look_at(HostRecord record) {
  const bool runs = co_await lives(record);
  co_return describe(record, runs);
}

Sandbox HostDriver::describe(const HostRecord& record, bool runs) const {
  Sandbox sandbox{.name = record.name,
                  .id = record.id,
                  .driver = std::string{name_},
                  .state = SandboxState::running,
                  .reason = {},
                  .owner = record.owner,
                  .image = record.container ? record.container->image : std::string{},
                  .labels = record.labels,
                  .created_at = record.created_at,
                  .expires_at = {},
                  .address = {},
                  .details = {{"folder", records_.root(record.name)}, {"log", records_.log(record.name)}}};
  const std::string which = record.container ? "its container" : "skiffd (process " + std::to_string(record.pid) + ")";
  if (record.stopped) {
    sandbox.state = SandboxState::stopped;
  } else if (record.has_answered() && runs) {
    if (record.expires_ms) sandbox.expires_at = rfc3339(WallTime{milliseconds{*record.expires_ms}});
    sandbox.address = record.address();
    if (record.pid > 0) sandbox.details["pid"] = std::to_string(record.pid);
    for (const auto& [port, address] : record.dialect_addresses) sandbox.details[port] = address;
  } else if (FileLock::is_held(records_.lock_file(), record.name)) {
    sandbox.state = SandboxState::creating;
  } else if (!record.has_answered()) {
    sandbox.state = SandboxState::failed;
    sandbox.reason = "its start was not finished";
    sandbox.was_never_up = record.half_made;
  } else if (auto end = end_in_log(log_end(records_.log(record.name))); end && end->is_lease) {
    sandbox.state = SandboxState::ended;
    sandbox.reason = std::move(end->why);
  } else {
    // Its files still exist, and `start` runs it again.
    sandbox.state = SandboxState::failed;
    sandbox.was_broken = true;
    sandbox.reason = end ? which + " was ended: " + end->why : which + " was killed, or the machine was restarted";
    // An agent that ended by itself has ended its commands.
    sandbox.may_run_on = !end && !record.container && record.boot == boot_id();
  }
  describe_more(record, sandbox);
  return sandbox;
}

Task<Result<HostRecord>> HostDriver::running(std::string name) {
  auto record = records_.load(name);
  if (!record) co_return record;
  const Sandbox sandbox = co_await look_at(*record);
  if (sandbox.state == SandboxState::running) co_return record;
  co_return std::unexpected{not_running(sandbox)};
}

Result<Endpoint> HostDriver::endpoint_of(const HostRecord& record, TokenGrant grant) {
  SKIFF_TRY_VOID(check_grant(grant));
  auto key = state_.signing_key();
  if (!key) return std::unexpected{std::move(key.error())};
  Endpoint endpoint;
  endpoint.url = record.address();
  endpoint.way = name_;
  endpoint.client.host = kLoopback;
  // If the agent is dead, another program may listen in its place and must not see a token.
  endpoint.client.dial = [this, record](milliseconds limit) -> Task<Result<protocol::Stream>> {
    return [](HostDriver* self, HostRecord of, milliseconds time) -> Task<Result<protocol::Stream>> {
      if (!co_await self->lives(of)) {
        SKIFF_CO_TRY_VOID(co_await self->running(of.name));
        co_return fail(Errc::sandbox_not_running, "sandbox \"" + of.name + "\" was started again in the meantime",
                       "name");
      }
      co_return co_await self->connect_agent(std::move(of), std::min(time, kConnectPatience));
    }(this, record, limit);
  };
  endpoint.token = [key = std::move(*key), id = record.id, owner = record.owner, grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  return endpoint;
}

std::unexpected<Error> HostDriver::not_up(const HostRecord& record, FailureReason reason,
                                          const std::string& why) const {
  const std::string lines = last_lines(log_end(records_.log(record.name)));
  return std::unexpected{bring_up_failure(
      reason, "skiffd does not come up: " + why + (lines.empty() ? "" : "; its log ends with:\n" + lines))};
}

Task<Result<HostRecord>> HostDriver::start_agent(HostRecord record, int lock, milliseconds wait) {
  SKIFF_CO_TRY(auto key, state_.signing_key());
  SKIFF_CO_TRY(auto public_key, key.public_pem());
  record.forget_agent();
  SKIFF_CO_TRY(record, co_await launch(std::move(record), std::move(public_key), lock, wait));
  record.stopped = false;
  record.half_made = false;
  record.expires_ms = lease_end_ms(record.ttl);
  SKIFF_CO_TRY(auto endpoint, endpoint_of(record, {}));
  AgentClient client{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  if (auto ready = co_await client.get("/readyz"); !ready) {
    co_return not_up(record, FailureReason::not_ready, ready.error().message);
  }
  SKIFF_CO_TRY_VOID(records_.save(record));
  co_return record;
}

Task<Result<>> HostDriver::erase(std::string name, Removal how) {
  auto discarded = co_await discard(name);
  if (!discarded && !is_forced(discarded, how)) co_return discarded;
  auto directory = records_.directory(name);
  // Remove the record last: if this process is killed meanwhile, the sandbox can still be removed.
  auto removing = [directory, root = records_.root(name)] {
    auto emptied = remove_directory(root);
    return emptied ? remove_directory(directory) : emptied;
  };
  auto removed = co_await disk_.run(std::move(removing));
  if (removed && std::filesystem::exists(directory)) {
    co_return fail(Errc::io_error, "\"" + directory.string() + "\" still exists: a process writes to it");
  }
  co_return removed;
}

Task<Result<>> HostDriver::erase_unrecorded(std::string name) {
  const auto known = records_.load(name);
  if (known || known.error().code != Errc::sandbox_not_found) co_return Result<>{};
  std::error_code ignored;
  const auto root = records_.root(name);
  if (!std::filesystem::is_directory(records_.directory(name), ignored)) co_return Result<>{};
  // Files without a record do not come from skiff.
  if (std::filesystem::exists(root, ignored) && !std::filesystem::is_empty(root, ignored)) co_return Result<>{};
  co_return co_await erase(std::move(name));
}

Task<bool> HostDriver::is_left(std::string name, bool runs) {
  // If another process holds the lock, it creates or removes the sandbox.
  auto lock = co_await FileLock::acquire(records_.lock_file(), name, milliseconds{0});
  if (!lock) co_return false;
  (void)co_await erase_unrecorded(name);
  const auto known = records_.load(name);
  if (known || known.error().code != Errc::sandbox_not_found) co_return false;
  co_return runs || has_own_files(records_.directory(name));
}

Task<bool> HostDriver::is_there(std::string name) {
  if (std::filesystem::exists(records_.directory(name))) co_return true;
  const auto alive = co_await find_running();
  co_return std::ranges::count(alive, name) > 0;
}

Result<> HostDriver::make_directory() const {
  auto made = create_private_directory(state_.path() / name_);
  if (!made && made.error().code == Errc::already_exists) return {};
  return made;
}

Task<Result<Sandbox>> HostDriver::bring_up(HostRecord record, int lock, milliseconds wait, Progress progress) {
  progress(Phase::starting, record.container ? record.container->image : "skiffd");
  Result<HostRecord> started = std::unexpected{Error{}};
  auto start = [&](this auto) -> Task<> { started = co_await start_agent(record, lock, wait); };
  co_await finally(std::move(start), [&](this auto) -> Task<> {
    if (started) co_return;
    if (auto known = records_.load(record.name)) record = std::move(*known);
    (void)co_await end_all(record, milliseconds{0});
  });
  if (!started) co_return std::unexpected{std::move(started.error())};
  progress(Phase::ready, "");
  co_return describe(*started, true);
}

Task<Result<Sandbox>> HostDriver::create(SandboxSpec spec, Progress progress) {
  SKIFF_CO_TRY_VOID(check_name(spec.name));
  SKIFF_CO_TRY_VOID(check_size(spec));
  if (!spec.image.empty() && !takes_images()) {
    co_return fail(Errc::invalid_field,
                   "the " + std::string{name_} + " driver takes no image (\"" + spec.image +
                       "\"): it runs the programs of this machine. Use --driver docker or a cluster; if you meant a "
                       "command, put -- "
                       "before it (skiff run -- COMMAND)",
                   "image");
  }
  HostRecord record{.name = spec.name,
                    .id = new_id("s"),
                    .owner = spec.owner,
                    .labels = spec.labels,
                    .env = spec.env,
                    .ttl = spec.lease.ttl,
                    .idle_ttl = spec.lease.idle_ttl,
                    .created_at = rfc3339(wall_now()),
                    .half_made = true,
                    .expires_ms = {},
                    .dialects = spec.pod.dialects,
                    .boot = {}};
  SKIFF_CO_TRY_VOID(prepare(spec, record));
  SKIFF_CO_TRY_VOID(make_directory());
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), spec.name, kLockPatience));
  SKIFF_CO_TRY_VOID(co_await erase_unrecorded(spec.name));
  bool is_added = false;
  Result<Sandbox> sandbox = std::unexpected{Error{}};
  auto make = [&](this auto) -> Task<Result<>> {
    SKIFF_CO_TRY_VOID(records_.add(record));
    is_added = true;
    sandbox = co_await bring_up(record, lock.descriptor(), spec.wait, std::move(progress));
    co_return Result<>{};
  };
  SKIFF_CO_TRY_VOID(co_await finally(std::move(make), [&](this auto) -> Task<> {
    if (is_added && !sandbox) (void)co_await erase(spec.name);
  }));
  co_return sandbox;
}

Task<Result<Sandbox>> HostDriver::get(std::string name) {
  auto record = records_.load(name);
  if (record) co_return co_await look_at(std::move(*record));
  if (is_damage(record.error())) co_return damaged(std::move(name), name_, record.error());
  co_return std::unexpected{std::move(record.error())};
}

bool HostDriver::is_of_another(const std::string& name, const struct stat& now, const SandboxFilter& filter) const {
  const auto known = owners_.find(name);
  return filter.owner && known != owners_.end() && known->second.owner != *filter.owner &&
         is_same_file(known->second.seen, now);
}

Task<Result<SandboxPage>> HostDriver::list(SandboxFilter filter) {
  SKIFF_CO_TRY(auto names, records_.names());
  std::vector<std::string> alive;
  if (filter.lost) alive = co_await find_running();
  if (!alive.empty()) {
    SKIFF_CO_TRY_VOID(make_directory());
    names.insert(names.end(), alive.begin(), alive.end());
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
  }
  if (owners_.size() > 2 * names.size()) owners_.clear();
  SandboxPage page;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    if (name <= filter.cursor) continue;
    struct stat now{};
    const bool is_there = ::stat(records_.record_file(name).c_str(), &now) == 0;
    if (is_there && is_of_another(name, now, filter)) continue;
    auto record = records_.load(name);
    if (record && is_there) owners_.insert_or_assign(name, Owned{now, record->owner});
    if (!record && record.error().code == Errc::sandbox_not_found) {
      // The sandbox was removed meanwhile, is being created, or was left by a process that was killed while it created
      // or removed it. Or somebody has removed files of the state directory.
      const bool is_lost = co_await is_left(name, std::ranges::count(alive, name) > 0);
      if (!is_lost) continue;
      record = fail(Errc::invalid_field, "its record is gone; `skiff rm` ends what runs in it and removes its files");
    }
    if (!record && !filter.damaged) continue;
    Sandbox sandbox = record ? co_await look_at(*record) : damaged(name, name_, record.error());
    // The whole directory belongs to one user, so every owner's list may contain a damaged sandbox.
    if (!record) sandbox.owner = filter.owner.value_or("");
    if (!matches(sandbox, filter)) continue;
    for (const auto& [label, value] : sandbox.labels) bytes += label.size() + value.size();
    if (page.items.size() == filter.limit || (bytes > filter.most_bytes && !page.items.empty())) {
      page.next = page.items.back().name;
      break;
    }
    page.items.push_back(std::move(sandbox));
  }
  co_return page;
}

Task<Result<>> HostDriver::stop(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  auto ended = co_await end_all(record, end_grace(how));
  if (!ended && !is_forced(ended, how)) co_return ended;
  record.stopped = true;
  record.set_process({});
  co_return records_.save(record);
}

Task<Result<Sandbox>> HostDriver::start(std::string name, milliseconds wait, Progress progress) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  if (!record.stopped && record.has_answered() && co_await lives(record)) co_return describe(record, true);
  if (auto ended = co_await end_all(record, milliseconds{0}); !ended) co_return std::unexpected{ended.error()};
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
  co_return co_await bring_up(std::move(record), lock.descriptor(), wait, std::move(progress));
}

Task<Result<bool>> HostDriver::remove(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(check_name(name));
  if (!co_await is_there(name)) co_return false;
  // Ask before taking the lock: a held lock makes the sandbox count as being created.
  auto seen = records_.load(name);
  if (seen && how.only_if && !how.only_if(co_await look_at(*seen))) co_return false;
  SKIFF_CO_TRY_VOID(make_directory());
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  if (!co_await is_there(name)) co_return false;
  // If the record cannot be read or was never written, the agent is found by its directory.
  HostRecord record;
  record.name = name;
  if (auto known = records_.load(name)) {
    record = std::move(*known);
    // If the sandbox was started, stopped or created again since then, it stays.
    const bool is_the_same =
        seen && record.id == seen->id && record.pid == seen->pid && record.stopped == seen->stopped;
    if (how.only_if && !is_the_same) co_return false;
  }
  auto ended = co_await end_all(std::move(record), end_grace(how));
  if (!ended && !is_forced(ended, how)) co_return std::unexpected{std::move(ended.error())};
  SKIFF_CO_TRY_VOID(co_await erase(std::move(name), std::move(how)));
  co_return true;
}

Task<Result<Sandbox>> HostDriver::extend(std::string name, Lease lease, milliseconds wait) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, wait));
  SKIFF_CO_TRY(auto record, co_await running(name));
  SKIFF_CO_TRY(auto endpoint, endpoint_of(record, {}));
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  nlohmann::json body = nlohmann::json::object();
  if (lease.ttl) body["ttl_ms"] = lease.ttl->count();
  if (lease.idle_ttl) body["idle_ttl_ms"] = lease.idle_ttl->count();
  std::string text = body.dump();
  SKIFF_CO_TRY_VOID(co_await agent.post("/v1/lease", std::move(text)));
  if (lease.ttl) record.ttl = lease.ttl;
  if (lease.idle_ttl) record.idle_ttl = lease.idle_ttl;
  record.expires_ms = lease_end_ms(record.ttl);
  SKIFF_CO_TRY_VOID(records_.save(record));
  co_return describe(record, true);
}

Task<Result<>> HostDriver::set_label(std::string name, std::string label, std::string value) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  record.labels[std::move(label)] = std::move(value);
  co_return records_.save(record);
}

Task<Result<Endpoint>> HostDriver::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto record, co_await running(name));
  co_return endpoint_of(record, std::move(grant));
}

std::unique_ptr<Freshness> HostDriver::freshness(const std::string& name) {
  return HostFreshness::take(records_, name);
}

std::unique_ptr<ListWatch> HostDriver::watch_list(Executor executor, std::function<void()> changed) {
  auto watch = watch_.lock();
  if (!watch) {
    if (!make_directory()) return nullptr;
    auto opened = HostWatch::open(std::move(executor), state_.path() / name_);
    if (!opened) {
      log::warning("changes of sandboxes are not noticed, and are looked for", {{"error", opened.error().message}});
      return nullptr;
    }
    watch_ = watch = std::move(*opened);
  }
  return HostWatch::join(std::move(watch), std::move(changed), logs_end_with_agents());
}

std::vector<Check> HostDriver::examine_parts() const {
  std::vector<Check> checks;
  checks.push_back({.what = "state directory", .passed = true, .detail = state_.path()});
  auto key = state_.signing_key();
  checks.push_back({.what = "signing key",
                    .passed = key.has_value(),
                    .detail = key ? "Ed25519" : key.error().message,
                    .remedy = key ? "" : "remove it: running sandboxes must then be started again"});
  auto skiffd = find_skiffd();
  checks.push_back(
      {.what = "skiffd",
       .passed = skiffd.has_value(),
       .detail = skiffd ? *skiffd : skiffd.error().message,
       .remedy =
           skiffd ? "" : "install it beside skiff; Debian's package is skiffd, and every archive has both programs"});
  return checks;
}

Task<Result<std::vector<kube::Object>>> HostDriver::manifest(SandboxSpec, bool) {
  co_return fail(
      Errc::invalid_field,
      "the " + std::string{name_} + " driver creates no objects in a cluster: use `--driver pod` or `--driver claim`",
      "--driver");
}

}  // namespace skiff::container
