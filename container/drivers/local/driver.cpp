#include "container/drivers/local/driver.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/kernel_features.hpp"
#include "container/agent/client.hpp"
#include "container/drivers/local/agent.hpp"
#include "container/drivers/local/file_lock.hpp"
#include "container/drivers/local/freshness.hpp"
#include "container/sandbox/dialects.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Longer than the agent's own drain (10 s), so that commands get their grace.
constexpr milliseconds kStopGrace{15'000};
constexpr milliseconds kLockPatience{60'000};
constexpr milliseconds kConnectPatience{5'000};
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

bool matches(const Sandbox& sandbox, const SandboxFilter& filter) {
  if (filter.owner && sandbox.owner != *filter.owner) return false;
  if (filter.state && sandbox.state != *filter.state) return false;
  return std::ranges::all_of(filter.labels, [&](const auto& wanted) {
    const auto found = sandbox.labels.find(wanted.first);
    return found != sandbox.labels.end() && found->second == wanted.second;
  });
}

/// A sandbox whose record cannot be read: its owner is unknown.
Sandbox damaged(std::string name, const Error& error) {
  return {.name = std::move(name),
          .id = {},
          .driver = "local",
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

LocalDriver::LocalDriver(StateDirectory state) : state_{std::move(state)}, records_{state_.path() / "local"} {}

std::string_view LocalDriver::notice() const noexcept {
  return "the local driver does not isolate: commands run on this machine, as you";
}

Sandbox LocalDriver::describe(const LocalRecord& record) const {
  Sandbox sandbox{.name = record.name,
                  .id = record.id,
                  .driver = "local",
                  .state = SandboxState::running,
                  .reason = {},
                  .owner = record.owner,
                  .image = {},
                  .labels = record.labels,
                  .created_at = record.created_at,
                  .expires_at = {},
                  .address = {},
                  .details = {{"folder", records_.root(record.name)}, {"log", records_.log(record.name)}}};
  const std::string which = "skiffd (process " + std::to_string(record.pid) + ")";
  if (record.stopped) {
    sandbox.state = SandboxState::stopped;
  } else if (record.port != 0 && is_alive(record.process())) {
    if (record.expires_ms) sandbox.expires_at = rfc3339(WallTime{milliseconds{*record.expires_ms}});
    sandbox.address = "http://127.0.0.1:" + std::to_string(record.port);
    sandbox.details["pid"] = std::to_string(record.pid);
    for (const auto& [port, address] : record.dialect_addresses) sandbox.details[port] = address;
  } else if (FileLock::is_held(records_.lock_file(), record.name)) {
    sandbox.state = SandboxState::creating;
  } else if (record.port == 0) {
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
    sandbox.may_run_on = !end && record.boot == boot_id();
  }
  return sandbox;
}

Result<LocalRecord> LocalDriver::running(std::string_view name) const {
  auto record = records_.load(name);
  if (!record) return record;
  const Sandbox sandbox = describe(*record);
  if (sandbox.state == SandboxState::running) return record;
  return std::unexpected{not_running(sandbox)};
}

Result<Endpoint> LocalDriver::endpoint_of(const LocalRecord& record, TokenGrant grant) const {
  SKIFF_TRY_VOID(check_grant(grant));
  auto key = state_.signing_key();
  if (!key) return std::unexpected{std::move(key.error())};
  Endpoint endpoint;
  endpoint.url = "http://127.0.0.1:" + std::to_string(record.port);
  endpoint.way = "local";
  endpoint.client.host = kLoopback;
  // If the agent is dead, another program may listen on its port and must not see a token.
  endpoint.client.dial = [this, name = record.name, process = record.process(),
                          port = record.port](milliseconds limit) -> Task<Result<protocol::Stream>> {
    return [](const LocalDriver* self, std::string of, HostProcess agent, std::uint16_t at,
              milliseconds time) -> Task<Result<protocol::Stream>> {
      if (!is_alive(agent)) {
        SKIFF_CO_TRY_VOID(self->running(of));
        co_return fail(Errc::sandbox_not_running, "sandbox \"" + of + "\" was started again in the meantime", "name");
      }
      SKIFF_CO_TRY(auto address, protocol::Address::ip(kLoopback, at));
      const Executor executor = co_await boost::asio::this_coro::executor;
      co_return co_await protocol::connect(address, std::min(time, kConnectPatience), executor);
    }(this, name, process, port, limit);
  };
  endpoint.token = [key = std::move(*key), id = record.id, owner = record.owner, grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  return endpoint;
}

Task<Result<LocalRecord>> LocalDriver::start_agent(LocalRecord record, milliseconds wait) {
  const auto failed = [&](FailureReason reason, const std::string& why) {
    const std::string lines = last_lines(log_end(records_.log(record.name)));
    return std::unexpected{bring_up_failure(
        reason, "skiffd does not come up: " + why + (lines.empty() ? "" : "; its log ends with:\n" + lines))};
  };
  SKIFF_CO_TRY(auto skiffd, find_skiffd());
  SKIFF_CO_TRY(auto key, state_.signing_key());
  SKIFF_CO_TRY(auto public_key, key.public_pem());
  SKIFF_CO_TRY(auto dialects, ports_of_dialects(record.dialects));
  const Executor executor = co_await boost::asio::this_coro::executor;
  SKIFF_CO_TRY(auto agent, spawn_agent(executor, std::move(skiffd), record, records_, public_key));
  record.set_process(agent.process);
  record.port = 0;  // a reader must not take the port of an earlier start for this one
  SKIFF_CO_TRY_VOID(records_.save(record));
  auto ports = co_await read_ports(std::move(agent.output), 1 + dialects.size(), wait);
  if (!ports) {
    const bool late = ports.error().code == Errc::timeout;
    co_return failed(late ? FailureReason::not_ready : FailureReason::exited, ports.error().message);
  }
  record.port = ports->front();
  record.dialect_addresses.clear();
  for (std::size_t i = 0; i < dialects.size(); ++i) {
    record.dialect_addresses.emplace(dialects[i].name, std::string{kLoopback} + ":" + std::to_string((*ports)[i + 1]));
  }
  record.stopped = false;
  record.half_made = false;
  record.expires_ms = lease_end_ms(record.ttl);
  SKIFF_CO_TRY(auto endpoint, endpoint_of(record, {}));
  AgentClient client{executor, std::move(endpoint)};
  if (auto ready = co_await client.get("/readyz"); !ready) {
    co_return failed(FailureReason::not_ready, ready.error().message);
  }
  SKIFF_CO_TRY_VOID(records_.save(record));
  co_return record;
}

Task<Result<>> LocalDriver::end_all(LocalRecord record, milliseconds grace) {
  // Find also agents whose record was never written or cannot be read. This scans the processes of all users, which may
  // take long.
  auto find = [root = records_.root(record.name)] { return find_agents(root); };
  std::vector<HostProcess> agents = co_await disk_.run(std::move(find));
  std::erase(agents, record.process());
  if (record.pid != 0) agents.insert(agents.begin(), record.process());
  for (HostProcess& agent : agents) {
    HostProcess one = std::move(agent);
    SKIFF_CO_TRY_VOID(co_await end_process(std::move(one), grace));
  }
  // An agent that was killed could not end processes that had left its session. They may create new ones while they are
  // being ended.
  if (record.id.empty()) co_return Result<>{};
  constexpr int kMostRounds = 100;
  const std::string mark = sandbox_mark(record.id);
  for (int round = 0; round < kMostRounds; ++round) {
    auto look = [&mark] { return processes_with_variable(mark); };
    auto left = co_await disk_.run(std::move(look));
    if (left.empty()) co_return Result<>{};
    for (HostProcess& process : left) {
      HostProcess one = std::move(process);
      SKIFF_CO_TRY_VOID(co_await end_process(std::move(one), milliseconds{0}));
    }
  }
  co_return fail(Errc::timeout, "processes of sandbox \"" + record.name + "\" reappear as fast as they are killed");
}

Task<Result<>> LocalDriver::erase(std::string name) {
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

Task<Result<>> LocalDriver::erase_unrecorded(std::string name) {
  const auto known = records_.load(name);
  if (known || known.error().code != Errc::sandbox_not_found) co_return Result<>{};
  std::error_code ignored;
  const auto root = records_.root(name);
  if (!std::filesystem::is_directory(records_.directory(name), ignored)) co_return Result<>{};
  // Files without a record do not come from skiff.
  if (std::filesystem::exists(root, ignored) && !std::filesystem::is_empty(root, ignored)) co_return Result<>{};
  co_return co_await erase(std::move(name));
}

Task<Result<Sandbox>> LocalDriver::bring_up(LocalRecord record, milliseconds wait, Progress progress) {
  progress(Phase::starting, "skiffd");
  Result<LocalRecord> started = std::unexpected{Error{}};
  auto start = [&](this auto) -> Task<> { started = co_await start_agent(record, wait); };
  co_await finally(std::move(start), [&](this auto) -> Task<> {
    if (started) co_return;
    if (auto known = records_.load(record.name)) record = std::move(*known);
    (void)co_await end_all(record, milliseconds{0});
  });
  if (!started) co_return std::unexpected{std::move(started.error())};
  progress(Phase::ready, "");
  co_return describe(*started);
}

Task<Result<Sandbox>> LocalDriver::create(SandboxSpec spec, Progress progress) {
  SKIFF_CO_TRY_VOID(check_name(spec.name));
  SKIFF_CO_TRY_VOID(check_size(spec));
  if (!spec.image.empty()) {
    co_return fail(
        Errc::invalid_field,
        "the local driver takes no image (\"" + spec.image +
            "\"): it runs commands on this machine. Put -- before the command (skiff run -- COMMAND), or use a "
            "cluster",
        "image");
  }
  SKIFF_CO_TRY_VOID(refuse_pod_options(spec.pod, name()));
  auto made = create_private_directory(state_.path() / "local");
  if (!made && made.error().code != Errc::already_exists) co_return std::unexpected{std::move(made.error())};
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), spec.name, kLockPatience));
  SKIFF_CO_TRY_VOID(co_await erase_unrecorded(spec.name));
  LocalRecord record{.name = spec.name,
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
  bool is_added = false;
  Result<Sandbox> sandbox = std::unexpected{Error{}};
  auto make = [&](this auto) -> Task<Result<>> {
    SKIFF_CO_TRY_VOID(records_.add(record));
    is_added = true;
    sandbox = co_await bring_up(record, spec.wait, std::move(progress));
    co_return Result<>{};
  };
  SKIFF_CO_TRY_VOID(co_await finally(std::move(make), [&](this auto) -> Task<> {
    if (is_added && !sandbox) (void)co_await erase(spec.name);
  }));
  co_return sandbox;
}

Task<Result<Sandbox>> LocalDriver::get(std::string name) {
  auto record = records_.load(name);
  if (record) co_return describe(*record);
  if (is_damage(record.error())) co_return damaged(std::move(name), record.error());
  co_return std::unexpected{std::move(record.error())};
}

bool LocalDriver::is_of_another(const std::string& name, const struct stat& now, const SandboxFilter& filter) const {
  const auto known = owners_.find(name);
  return filter.owner && known != owners_.end() && known->second.owner != *filter.owner &&
         is_same_file(known->second.seen, now);
}

Task<Result<SandboxPage>> LocalDriver::list(SandboxFilter filter) {
  SKIFF_CO_TRY(auto names, records_.names());
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
      // or removed it.
      auto lock = co_await FileLock::acquire(records_.lock_file(), name, milliseconds{0});
      if (lock) (void)co_await erase_unrecorded(name);
      continue;
    }
    if (!record && !filter.damaged) continue;
    Sandbox sandbox = record ? describe(*record) : damaged(name, record.error());
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

Task<Result<>> LocalDriver::stop(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  SKIFF_CO_TRY_VOID(co_await end_all(record, end_grace(how)));
  record.stopped = true;
  record.set_process({});
  co_return records_.save(record);
}

Task<Result<Sandbox>> LocalDriver::start(std::string name, milliseconds wait, Progress progress) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  if (!record.stopped && record.port != 0 && is_alive(record.process())) co_return describe(record);
  if (auto ended = co_await end_all(record, milliseconds{0}); !ended) co_return std::unexpected{ended.error()};
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
  co_return co_await bring_up(std::move(record), wait, std::move(progress));
}

Task<Result<bool>> LocalDriver::remove(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(check_name(name));
  if (!std::filesystem::exists(records_.directory(name))) co_return false;
  // Ask before taking the lock: a held lock makes the sandbox count as being created.
  auto seen = records_.load(name);
  if (seen && how.only_if && !how.only_if(describe(*seen))) co_return false;
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  if (!std::filesystem::exists(records_.directory(name))) co_return false;
  // If the record cannot be read or was never written, the agent is found by its directory.
  LocalRecord record;
  record.name = name;
  if (auto known = records_.load(name)) {
    record = std::move(*known);
    // If the sandbox was started, stopped or created again since then, it stays.
    const bool is_the_same =
        seen && record.id == seen->id && record.pid == seen->pid && record.stopped == seen->stopped;
    if (how.only_if && !is_the_same) co_return false;
  }
  SKIFF_CO_TRY_VOID(co_await end_all(std::move(record), end_grace(how)));
  SKIFF_CO_TRY_VOID(co_await erase(std::move(name)));
  co_return true;
}

Task<Result<Sandbox>> LocalDriver::extend(std::string name, Lease lease, milliseconds wait) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, wait));
  SKIFF_CO_TRY(auto record, running(name));
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
  co_return describe(record);
}

Task<Result<>> LocalDriver::set_label(std::string name, std::string label, std::string value) {
  SKIFF_CO_TRY_VOID(records_.load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records_.lock_file(), name, kLockPatience));
  SKIFF_CO_TRY(auto record, records_.load(name));
  record.labels[std::move(label)] = std::move(value);
  co_return records_.save(record);
}

Task<Result<Endpoint>> LocalDriver::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto record, running(name));
  co_return endpoint_of(record, std::move(grant));
}

std::unique_ptr<Freshness> LocalDriver::freshness(const std::string& name) {
  return LocalFreshness::take(records_, name);
}

Task<Result<protocol::Stream>> LocalDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto record, running(name));
  std::string at = std::string{kLoopback} + ":" + std::to_string(port);
  // Many sandboxes share this machine's ports, so a dialect may listen on another port than its usual one.
  for (const DialectPort& known : ports_of_dialects(record.dialects).value_or(std::vector<DialectPort>{})) {
    const auto own = record.dialect_addresses.find(std::string{known.name});
    if (known.number == port && own != record.dialect_addresses.end()) at = own->second;
  }
  SKIFF_CO_TRY(auto address, protocol::Address::parse(at));
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await protocol::connect(address, kConnectPatience, executor);
}

Task<std::vector<Check>> LocalDriver::examine() {
  std::vector<Check> checks;
  checks.push_back({.what = "state directory", .passed = true, .detail = state_.path()});
  auto key = state_.signing_key();
  checks.push_back({.what = "signing key",
                    .passed = key.has_value(),
                    .detail = key ? "Ed25519" : key.error().message,
                    .remedy = key ? "" : "remove it: running sandboxes must then be started again"});
  auto skiffd = find_skiffd();
  checks.push_back({.what = "skiffd",
                    .passed = skiffd.has_value(),
                    .detail = skiffd ? *skiffd : skiffd.error().message,
                    .remedy = skiffd ? "" : "build it with `make build`, or install it beside skiff"});
  const KernelFeatures& kernel = kernel_features();
  std::string features = "openat2 " + std::string{kernel.openat2 ? "yes" : "no"};
  features += ", pidfd " + std::string{kernel.pidfd ? "yes" : "no"};
  features += ", Landlock ABI " + std::to_string(kernel.landlock_abi);
  // There is a fallback for each missing feature.
  checks.push_back({.what = "kernel", .passed = true, .detail = std::move(features)});
  co_return checks;
}

Task<Result<PodOptions>> LocalDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return fail(
      Errc::invalid_field,
      "the local driver uses the network of this machine: use `--driver pod` to restrict a sandbox's network",
      "--driver");
}

Task<Result<std::vector<kube::Object>>> LocalDriver::manifest(SandboxSpec, bool) {
  co_return fail(Errc::invalid_field,
                 "the local driver creates no objects in a cluster: use `--driver pod` or `--driver claim`",
                 "--driver");
}

}  // namespace skiff::container
