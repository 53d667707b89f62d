#include "container/launcher/local_driver.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/kernel_features.hpp"
#include "container/launcher/agent_client.hpp"
#include "container/launcher/file_lock.hpp"
#include "container/launcher/local_agent.hpp"
#include "protocol/address.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Above the agent's own drain (10 s), so that commands get their grace.
constexpr milliseconds kStopGrace{15'000};
constexpr milliseconds kLockPatience{60'000};
constexpr milliseconds kConnectPatience{5'000};
constexpr std::string_view kLoopback = "127.0.0.1";
constexpr std::size_t kLogEnd = 4096;
constexpr std::string_view kListening = "skiffd listening on http://127.0.0.1:";

milliseconds unix_now() {
  return std::chrono::floor<milliseconds>(wall_now()).time_since_epoch();
}

/// The last bytes of the agent's log.
std::string log_end(const std::filesystem::path& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return {};
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string text(kLogEnd, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), std::max<off_t>(0, size - off_t{kLogEnd}));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

bool matches(const Sandbox& sandbox, const SandboxFilter& filter) {
  if (filter.owner && sandbox.owner != *filter.owner) return false;
  if (filter.state && sandbox.state != *filter.state) return false;
  return std::ranges::all_of(filter.labels, [&](const auto& wanted) {
    const auto found = sandbox.labels.find(wanted.first);
    return found != sandbox.labels.end() && found->second == wanted.second;
  });
}

/// A socket's two ends: one waits for what a child writes to the other.
Result<std::pair<UniqueFd, UniqueFd>> output_socket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected{system_error(errno, "make a socket pair")};
  }
  std::pair<UniqueFd, UniqueFd> pair{ends[0], ends[1]};
  ::fcntl(pair.first.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

/// The port out of the line that skiffd prints when it listens. Fails when it ends, or says nothing in time.
Task<Result<std::uint16_t>> read_port(protocol::Stream output, milliseconds limit) {
  std::string line;
  std::array<char, 256> buffer{};
  while (!line.contains('\n')) {
    auto got = co_await output.read_some(buffer, limit);
    if (!got) co_return std::unexpected{std::move(got.error())};
    if (*got == 0) co_return fail(Errc::io_error, "it ended before it listened");
    line.append(buffer.data(), *got);
  }
  const auto port = line.starts_with(kListening) ? std::atoi(line.c_str() + kListening.size()) : 0;
  if (port < 1 || port > 65535) co_return fail(Errc::io_error, "it says \"" + line.substr(0, 200) + "\"");
  co_return static_cast<std::uint16_t>(port);
}

}  // namespace

LocalDriver::LocalDriver(StateFolder state) : state_{std::move(state)}, records_{state_.path() / "local"} {}

std::string_view LocalDriver::notice() const noexcept {
  return "the local driver is no isolation: commands run on this machine, as you";
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
  const auto expires = record.expires ? std::optional{rfc3339(WallTime{*record.expires})} : std::nullopt;
  const std::string which = "skiffd (process " + std::to_string(record.pid) + ")";
  if (record.stopped) {
    sandbox.state = SandboxState::stopped;
  } else if (record.port != 0 && is_alive(record.process())) {
    sandbox.expires_at = expires;
    sandbox.address = "http://127.0.0.1:" + std::to_string(record.port);
    sandbox.details["pid"] = std::to_string(record.pid);
  } else if (FileLock::is_held(records_.lock(record.name))) {
    sandbox.state = SandboxState::creating;
  } else if (record.port == 0) {
    sandbox.state = SandboxState::failed;
    sandbox.reason = "the skiff that was making it is gone";
  } else if (auto why = reason_in_log(log_end(records_.log(record.name)))) {
    sandbox.state = SandboxState::ended;
    sandbox.reason = std::move(*why);
  } else {
    sandbox.state = SandboxState::failed;
    sandbox.reason = which + " was killed, or the machine was restarted";
  }
  return sandbox;
}

Result<LocalRecord> LocalDriver::running(std::string_view name) const {
  auto record = records_.load(name);
  if (!record) return record;
  const Sandbox sandbox = describe(*record);
  if (sandbox.state == SandboxState::running) return record;
  std::string message = "sandbox \"" + std::string{name} + "\" ";
  message += sandbox.state == SandboxState::stopped    ? "is stopped"
             : sandbox.state == SandboxState::creating ? "is still being made"
             : sandbox.state == SandboxState::ended    ? "has ended: " + sandbox.reason
                                                       : "does not run any more: " + sandbox.reason;
  if (sandbox.state != SandboxState::creating) message += "; `skiff start " + std::string{name} + "` runs it again";
  return fail(Errc::sandbox_not_running, std::move(message), "name");
}

Result<Endpoint> LocalDriver::endpoint_of(const LocalRecord& record, TokenGrant grant) const {
  if (auto valid = check_grant(grant); !valid) return std::unexpected{std::move(valid.error())};
  auto key = state_.signing_key();
  if (!key) return std::unexpected{std::move(key.error())};
  Endpoint endpoint;
  endpoint.url = "http://127.0.0.1:" + std::to_string(record.port);
  endpoint.host = kLoopback;
  // What listens on the port of a dead agent is somebody else, who is not to see a token.
  endpoint.connect = [this, name = record.name, process = record.process(),
                      port = record.port]() -> Task<Result<protocol::Stream>> {
    return [](const LocalDriver* self, std::string of, HostProcess agent,
              std::uint16_t at) -> Task<Result<protocol::Stream>> {
      if (!is_alive(agent)) {
        auto now = self->running(of);
        if (!now) co_return std::unexpected{std::move(now.error())};
        co_return fail(Errc::sandbox_not_running, "sandbox \"" + of + "\" was started anew meanwhile", "name");
      }
      auto address = protocol::Address::ip(kLoopback, at);
      if (!address) co_return std::unexpected{std::move(address.error())};
      const Executor executor = co_await boost::asio::this_coro::executor;
      co_return co_await protocol::connect(*address, kConnectPatience, executor);
    }(this, name, process, port);
  };
  endpoint.token = [key = std::move(*key), id = record.id, owner = record.owner, grant = std::move(grant)] {
    return sign_token(key, id, owner, grant, wall_now());
  };
  return endpoint;
}

Task<Result<LocalRecord>> LocalDriver::start_agent(LocalRecord record, milliseconds wait) {
  const auto failed = [&](FailureReason reason, const std::string& why) {
    const std::string line = last_line(log_end(records_.log(record.name)));
    return std::unexpected{bring_up_failure(
        reason, "skiffd does not come up: " + why + (line.empty() ? "" : "; its last words: " + line))};
  };
  auto skiffd = find_skiffd();
  if (!skiffd) co_return std::unexpected{std::move(skiffd.error())};
  auto key = state_.signing_key();
  if (!key) co_return std::unexpected{std::move(key.error())};
  auto public_key = key->public_pem();
  if (!public_key) co_return std::unexpected{std::move(public_key.error())};
  auto output = output_socket();
  if (!output) co_return std::unexpected{std::move(output.error())};
  const auto log = records_.log(record.name);
  // The log is that of this start: what it ends with is this agent's reason.
  UniqueFd log_file{::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
  if (!log_file) co_return std::unexpected{system_error(errno, "open \"" + log.string() + "\"")};

  const auto root = records_.root(record.name);
  SpawnDaemon daemon{.argv = agent_arguments(std::move(*skiffd), record, root),
                     .environment = agent_environment(::environ, record, *public_key),
                     .folder = root,
                     .output = std::move(output->second),
                     .log = std::move(log_file)};
  auto process = spawn_daemon(std::move(daemon));
  if (!process) co_return std::unexpected{std::move(process.error())};
  record.set_process(*process);
  if (auto saved = records_.save(record); !saved) co_return std::unexpected{std::move(saved.error())};

  const Executor executor = co_await boost::asio::this_coro::executor;
  protocol::Stream reader{executor, std::move(output->first), "skiffd"};
  auto port = co_await read_port(std::move(reader), wait);
  if (!port) {
    const bool late = port.error().code == Errc::timeout;
    co_return failed(late ? FailureReason::not_ready : FailureReason::exited, port.error().message);
  }
  record.port = *port;
  record.stopped = false;
  record.expires = record.ttl ? std::optional{unix_now() + *record.ttl} : std::nullopt;
  auto endpoint = endpoint_of(record, {});
  if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
  AgentClient agent{executor, std::move(*endpoint)};
  if (auto ready = co_await agent.get("/readyz"); !ready) {
    co_return failed(FailureReason::not_ready, ready.error().message);
  }
  if (auto saved = records_.save(record); !saved) co_return std::unexpected{std::move(saved.error())};
  co_return record;
}

Task<Result<>> LocalDriver::end_all(LocalRecord record, milliseconds grace) {
  // Also an agent that was started by a skiff that died before it could write that down.
  std::vector<HostProcess> agents = processes_with_argument(record.id);
  std::erase(agents, record.process());
  if (record.pid != 0) agents.insert(agents.begin(), record.process());
  for (HostProcess& agent : agents) {
    HostProcess one = std::move(agent);
    if (auto ended = co_await end_process(std::move(one), grace); !ended) co_return ended;
  }
  // An agent that was killed could not end what had left its session. New ones may be born while they are ended.
  constexpr int kMostRounds = 100;
  const std::string mark = sandbox_mark(record.id);
  for (int round = 0; round < kMostRounds; ++round) {
    auto left = processes_with_variable(mark);
    if (left.empty()) co_return Result<>{};
    for (HostProcess& process : left) {
      HostProcess one = std::move(process);
      if (auto ended = co_await end_process(std::move(one), milliseconds{0}); !ended) co_return ended;
    }
  }
  co_return fail(Errc::timeout, "processes of sandbox \"" + record.name + "\" come back as fast as they are ended");
}

Task<Result<>> LocalDriver::erase(std::string name) {
  auto folder = records_.folder(name);
  auto removing = [folder] { return remove_folder(folder); };
  auto removed = co_await disk_.run(std::move(removing));
  if (removed && std::filesystem::exists(folder)) {
    co_return fail(Errc::io_error, "\"" + folder.string() + "\" is still there: something writes to it");
  }
  co_return removed;
}

Task<Result<Sandbox>> LocalDriver::bring_up(LocalRecord record, milliseconds wait, Progress progress) {
  progress(Phase::starting, "skiffd");
  Result<LocalRecord> started = std::unexpected{Error{}};
  std::exception_ptr failure;
  try {
    started = co_await start_agent(record, wait);
  } catch (...) {
    failure = std::current_exception();  // the caller was cancelled
  }
  if (started) {
    progress(Phase::ready, "");
    co_return describe(*started);
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  if (auto known = records_.load(record.name)) record = std::move(*known);
  (void)co_await end_all(record, milliseconds{0});
  if (failure) std::rethrow_exception(failure);
  co_return std::unexpected{std::move(started.error())};
}

Task<Result<Sandbox>> LocalDriver::create(SandboxSpec spec, Progress progress) {
  if (auto valid = check_name(spec.name); !valid) co_return std::unexpected{std::move(valid.error())};
  if (!spec.image.empty()) {
    co_return fail(Errc::invalid_field,
                   "the local driver takes no image (\"" + spec.image +
                       "\"): it runs commands on this machine; leave the "
                       "image out, or use a cluster",
                   "image");
  }
  auto made = make_private_folder(state_.path() / "local");
  if (!made && made.error().code != Errc::already_exists) co_return std::unexpected{std::move(made.error())};
  auto lock = co_await FileLock::acquire(records_.lock(spec.name), kLockPatience, "sandbox \"" + spec.name + "\"");
  if (!lock) co_return std::unexpected{std::move(lock.error())};
  LocalRecord record{.name = spec.name,
                     .id = new_id("s"),
                     .owner = spec.owner,
                     .labels = spec.labels,
                     .env = spec.env,
                     .ttl = spec.lease.ttl,
                     .idle_ttl = spec.lease.idle_ttl,
                     .created_at = rfc3339(wall_now()),
                     .expires = {},
                     .boot = {}};
  if (auto added = records_.add(record); !added) co_return std::unexpected{std::move(added.error())};
  Result<Sandbox> sandbox = std::unexpected{Error{}};
  std::exception_ptr failure;
  try {
    sandbox = co_await bring_up(record, spec.wait, std::move(progress));
  } catch (...) {
    failure = std::current_exception();
  }
  if (!sandbox) (void)co_await erase(spec.name);
  if (failure) std::rethrow_exception(failure);
  co_return sandbox;
}

Task<Result<Sandbox>> LocalDriver::get(std::string name) {
  auto record = records_.load(name);
  if (!record) co_return std::unexpected{std::move(record.error())};
  co_return describe(*record);
}

Task<Result<SandboxPage>> LocalDriver::list(SandboxFilter filter) {
  auto records = records_.all();
  if (!records) co_return std::unexpected{std::move(records.error())};
  SandboxPage page;
  for (const LocalRecord& record : *records) {
    if (record.name <= filter.cursor) continue;
    Sandbox sandbox = describe(record);
    if (!matches(sandbox, filter)) continue;
    if (page.items.size() == filter.limit) {
      page.next = page.items.back().name;
      break;
    }
    page.items.push_back(std::move(sandbox));
  }
  co_return page;
}

Task<Result<>> LocalDriver::stop(std::string name) {
  if (auto known = records_.load(name); !known) co_return std::unexpected{std::move(known.error())};
  auto lock = co_await FileLock::acquire(records_.lock(name), kLockPatience, "sandbox \"" + name + "\"");
  if (!lock) co_return std::unexpected{std::move(lock.error())};
  auto record = records_.load(name);
  if (!record) co_return std::unexpected{std::move(record.error())};
  if (auto ended = co_await end_all(*record, kStopGrace); !ended) co_return ended;
  record->stopped = true;
  record->set_process({});
  co_return records_.save(*record);
}

Task<Result<Sandbox>> LocalDriver::start(std::string name, milliseconds wait, Progress progress) {
  if (auto known = records_.load(name); !known) co_return std::unexpected{std::move(known.error())};
  auto lock = co_await FileLock::acquire(records_.lock(name), kLockPatience, "sandbox \"" + name + "\"");
  if (!lock) co_return std::unexpected{std::move(lock.error())};
  auto record = records_.load(name);
  if (!record) co_return std::unexpected{std::move(record.error())};
  if (!record->stopped && record->port != 0 && is_alive(record->process())) co_return describe(*record);
  if (auto ended = co_await end_all(*record, milliseconds{0}); !ended) co_return std::unexpected{ended.error()};
  co_return co_await bring_up(std::move(*record), wait, std::move(progress));
}

Task<Result<bool>> LocalDriver::remove(std::string name) {
  if (auto valid = check_name(name); !valid) co_return std::unexpected{std::move(valid.error())};
  if (!std::filesystem::exists(records_.folder(name))) co_return false;
  auto lock = co_await FileLock::acquire(records_.lock(name), kLockPatience, "sandbox \"" + name + "\"");
  if (!lock) co_return std::unexpected{std::move(lock.error())};
  if (!std::filesystem::exists(records_.folder(name))) co_return false;
  // A record that can't be read, or was never written, hides no process that could be ended by it.
  if (auto record = records_.load(name)) {
    if (auto ended = co_await end_all(*record, kStopGrace); !ended) co_return std::unexpected{std::move(ended.error())};
  }
  if (auto erased = co_await erase(std::move(name)); !erased) co_return std::unexpected{std::move(erased.error())};
  co_return true;
}

Task<Result<Sandbox>> LocalDriver::extend(std::string name, Lease lease) {
  auto lock = co_await FileLock::acquire(records_.lock(name), kLockPatience, "sandbox \"" + name + "\"");
  if (!lock) co_return std::unexpected{std::move(lock.error())};
  auto record = running(name);
  if (!record) co_return std::unexpected{std::move(record.error())};
  auto endpoint = endpoint_of(*record, {});
  if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  nlohmann::json body = nlohmann::json::object();
  if (lease.ttl) body["ttl_ms"] = lease.ttl->count();
  if (lease.idle_ttl) body["idle_ttl_ms"] = lease.idle_ttl->count();
  std::string text = body.dump();
  if (auto renewed = co_await agent.post("/v1/lease", std::move(text)); !renewed) {
    co_return std::unexpected{std::move(renewed.error())};
  }
  if (lease.ttl) record->ttl = lease.ttl;
  if (lease.idle_ttl) record->idle_ttl = lease.idle_ttl;
  record->expires = record->ttl ? std::optional{unix_now() + *record->ttl} : std::nullopt;
  if (auto saved = records_.save(*record); !saved) co_return std::unexpected{std::move(saved.error())};
  co_return describe(*record);
}

Task<Result<Endpoint>> LocalDriver::endpoint(std::string name, TokenGrant grant) {
  auto record = running(name);
  if (!record) co_return std::unexpected{std::move(record.error())};
  co_return endpoint_of(*record, std::move(grant));
}

Task<Result<protocol::Stream>> LocalDriver::dial(std::string name, std::uint16_t port) {
  if (auto record = running(name); !record) co_return std::unexpected{std::move(record.error())};
  auto address = protocol::Address::ip(kLoopback, port);
  if (!address) co_return std::unexpected{std::move(address.error())};
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await protocol::connect(*address, kConnectPatience, executor);
}

Task<std::vector<Check>> LocalDriver::examine() {
  std::vector<Check> checks;
  checks.push_back({.what = "state folder", .passed = true, .detail = state_.path()});
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
  checks.push_back({.what = "kernel",
                    .passed = kernel.pidfd,
                    .detail = std::move(features),
                    .remedy = kernel.pidfd ? ""
                                           : "the local driver needs Linux 5.3, and a seccomp filter that allows "
                                             "pidfd_open and pidfd_send_signal"});
  co_return checks;
}

}  // namespace skiff::container
