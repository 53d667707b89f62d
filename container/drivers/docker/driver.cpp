#include "container/drivers/docker/driver.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/async/in_parallel.hpp"
#include "base/small_file.hpp"
#include "container/agent/client.hpp"
#include "container/drivers/docker/agent_archive.hpp"
#include "container/drivers/docker/arguments.hpp"
#include "container/host/agent.hpp"
#include "container/host/file_lock.hpp"
#include "container/sandbox/dialects.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using docker::Engine;
using std::chrono::milliseconds;

constexpr std::string_view kPublishedHost = "127.0.0.1";
/// Longest time for a call that stores or moves data of a container.
constexpr milliseconds kLongCall{120'000};
/// Time beyond the grace of a stop.
constexpr milliseconds kStopSlack{30'000};
/// Longest time for a list of containers.
constexpr milliseconds kListPatience{30'000};
/// Longest time for such a list where each engine is asked.
constexpr milliseconds kSweepPatience{10'000};
/// How long a list of the running containers is used again.
constexpr milliseconds kListAge{1'000};
constexpr milliseconds kBetweenSweeps{10'000};
/// Lines of a container's log that are read.
constexpr const char* kShownLog = "1000";
constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{500};

/// The process on this machine that is skiffd of the sandbox; pid 0 if the engine's processes are not ours, as in a
/// virtual machine.
HostProcess agent_process(pid_t pid, const HostRecord& record) {
  constexpr std::size_t kLongestLine = std::size_t{1} << 20U;
  auto process = find_process(pid);
  const auto line = read_small_file("/proc/" + std::to_string(pid) + "/cmdline", kLongestLine);
  const std::string wanted = std::string{"--sandbox-id"} + '\0' + record.id + '\0';
  return process && line && line->contains(wanted) ? std::move(*process) : HostProcess{};
}

FailureReason reason_of_refusal(const Error& error) {
  return docker::says_no_such_image(error) ? FailureReason::image_pull : FailureReason::engine;
}

/// The error of a start, with a reason.
std::unexpected<Error> refused(const Error& error) {
  const FailureReason reason = error.code == Errc::timeout ? FailureReason::not_ready : reason_of_refusal(error);
  std::string message = error.message;
  if (reason == FailureReason::image_pull) {
    message += "\nname an image that the engine has (`podman images`), or give it one (`podman load -i FILE`)";
  }
  return std::unexpected{bring_up_failure(reason, std::move(message))};
}

/// The error for a container that nobody can be asked to end.
Error may_run_on(const std::string& name, const std::string& why, const std::string& remedy) {
  return bring_up_failure(FailureReason::no_engine, why + ", and the container of sandbox \"" + name +
                                                        "\" may still run: " + remedy + "; `skiff rm --force " + name +
                                                        "` removes the sandbox without its container");
}

/// Judges a call that ends or removes a container: it has succeeded, too, if the engine does not have the container.
/// The container of an engine that is not installed, or not on this PATH, may still run.
Result<> ended(const std::string& name, const Result<docker::EngineOutput>& answer) {
  if (answer || docker::says_no_such_container(answer.error())) return {};
  if (answer.error().code != Errc::not_found) return std::unexpected{answer.error()};
  return std::unexpected{may_run_on(name, answer.error().message, "install the engine or put it on PATH")};
}

Error removed_by_others(const std::string& name) {
  return bring_up_failure(FailureReason::engine, "the container of sandbox \"" + name +
                                                     "\" was removed by another program, and its files with it: "
                                                     "`skiff rm " +
                                                     name + "` removes the rest");
}

}  // namespace

DockerDriver::DockerDriver(Executor executor, StateDirectory state)
    : HostDriver{"docker", std::move(state)}, relays_{executor}, ports_{executor} {}

std::string_view DockerDriver::notice() const noexcept {
  return "a container shares this machine's kernel, and its disk is not limited";
}

Result<> DockerDriver::prepare(const SandboxSpec& spec, HostRecord& record) {
  SKIFF_TRY(record.container, docker::container_of(spec));
  return {};
}

Task<Result<Engine>> DockerDriver::engine() {
  if (!engine_) {
    SKIFF_CO_TRY(auto found, co_await docker::find_engine());
    engine_ = std::move(found);
  }
  co_return *engine_;
}

Task<Result<HostRecord>> DockerDriver::create_container(HostRecord record, milliseconds wait) {
  SKIFF_CO_TRY(auto with, co_await engine());
  SKIFF_CO_TRY(auto info, co_await with.call({.arguments = {"info", "--format", "{{json .}}"}}));
  SKIFF_CO_TRY(const auto abilities, docker::parse_info(info.out));
  record.container->engine = with.program();
  SKIFF_CO_TRY_VOID(docker::adapt_to(*record.container, abilities));
  // After a crash the record says which engine may have a container of the sandbox.
  SKIFF_CO_TRY_VOID(records().save(record));
  SKIFF_CO_TRY(auto key, state().signing_key());
  SKIFF_CO_TRY(auto state_name, key.fingerprint());
  auto created =
      co_await with.call({.arguments = docker::create_arguments(with.is_nerdctl(), record, state_name), .limit = wait});
  if (!created && created.error().code == Errc::timeout) {
    created.error().message += ": its image may be large, and --wait gives it more time";
  }
  if (!created) co_return refused(created.error());
  SKIFF_CO_TRY(record.container->id, docker::parse_created(created->out));
  SKIFF_CO_TRY_VOID(records().save(record));
  co_return record;
}

Task<Result<>> DockerDriver::start_container(const HostRecord* record, Engine with, std::string public_key) {
  docker::AgentFiles agent;
  SKIFF_CO_TRY(agent.skiffd, find_skiffd());
  SKIFF_CO_TRY(agent.launch_plan, docker::launch_plan(*record, public_key));
  agent.is_new = record->half_made;
  auto pack = [agent, of = *record] { return docker::pack_agent(agent, of); };
  SKIFF_CO_TRY(auto archive, co_await disk().run(std::move(pack)));
  const std::string& id = record->container->id;
  // Podman 4.3 copies the archive into a file, and leaves it behind.
  const auto temporary = records().directory(record->name) / "engine";
  SKIFF_CO_TRY_VOID(remove_directory(temporary));
  SKIFF_CO_TRY_VOID(create_private_directory(temporary));
  auto put = co_await with.call({.arguments = docker::put_in_arguments(*record->container),
                                 .limit = kLongCall,
                                 .input = std::move(archive),
                                 .temporary = temporary.string()});
  SKIFF_CO_TRY_VOID(remove_directory(temporary));
  if (!put) {
    const auto there = co_await inspect(with, *record);
    const bool is_gone = !there && docker::says_no_such_container(there.error());
    if (is_gone) co_return std::unexpected{removed_by_others(record->name)};
    co_return refused(put.error());
  }
  auto started = co_await with.call({.arguments = {"start", id}, .limit = kLongCall});
  if (!started) co_return refused(started.error());
  co_return Result<>{};
}

Task<Result<docker::ContainerState>> DockerDriver::inspect(Engine with, HostRecord record) {
  SKIFF_CO_TRY(auto answer,
               co_await with.call({.arguments = {"inspect", "--type", "container", record.container->id}}));
  co_return docker::parse_inspect(answer.out, record.container->agent_port);
}

Task<Result<HostRecord>> DockerDriver::launch(HostRecord record, std::string public_key, int /*lock*/,
                                              milliseconds wait) {
  const auto until = Clock::now() + wait;
  if (record.container->id.empty()) {
    SKIFF_CO_TRY(record, co_await create_container(std::move(record), wait));
  }
  const Engine with{record.container->engine};
  std::error_code ignored;
  std::filesystem::remove(records().log(record.name), ignored);
  listed_.reset();
  SKIFF_CO_TRY_VOID(co_await start_container(&record, with, std::move(public_key)));
  SKIFF_CO_TRY(auto now, co_await inspect(with, record));
  record.port = record.container->is_closed() ? record.container->agent_port : now.port;
  if (now.is_running && record.port == 0) {
    co_return refused({.code = Errc::io_error,
                       .message = "`" + with.program() + "` has published no port of 127.0.0.1 for the agent"});
  }
  SKIFF_CO_TRY_VOID(co_await await_agent(&record, with, until));
  // Once it has answered it is skiffd with its own arguments, and no longer the reader of the launch file.
  SKIFF_CO_TRY(now, co_await inspect(with, record));
  record.set_process(agent_process(now.pid, record));
  co_return record;
}

Task<Result<>> DockerDriver::await_agent(const HostRecord* record, Engine of, Clock::time_point until) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  milliseconds wait = kFirstPause;
  for (;;) {
    SKIFF_CO_TRY(auto endpoint, endpoint_of(*record, {.scope = "read"}));
    endpoint.client.dial = [this, record](milliseconds limit) { return connect_agent(*record, limit); };
    AgentClient client{executor, std::move(endpoint)};
    const auto ready = co_await client.get("/readyz");
    if (ready) co_return Result<>{};
    SKIFF_CO_TRY(const auto now, co_await inspect(of, *record));
    if (!now.is_running) {
      co_await keep_log(*record);
      const FailureReason why = now.out_of_memory ? FailureReason::out_of_memory : FailureReason::exited;
      co_return not_up(*record, why,
                       "its container ended with status " + std::to_string(now.exit_code) +
                           (now.error.empty() ? "" : ": " + now.error));
    }
    if (Clock::now() >= until) co_return not_up(*record, FailureReason::not_ready, ready.error().message);
    co_await pause(wait);
    wait = std::min(wait * 2, kLongestPause);
  }
}

Task<Result<protocol::Stream>> DockerDriver::connect_agent(HostRecord record, milliseconds limit) {
  if (record.container->is_closed()) {
    co_return relays_.connect(Engine{record.container->engine}, record.container->id, record.container->agent_port);
  }
  SKIFF_CO_TRY(auto address, protocol::Address::ip(kPublishedHost, record.port));
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await protocol::connect(address, limit, executor);
}

Task<Result<>> DockerDriver::end_all(HostRecord record, milliseconds grace) {
  if (!record.container || record.container->id.empty()) co_return Result<>{};
  listed_.reset();
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace);
  const auto stopped = co_await Engine{record.container->engine}.call(
      {.arguments = {"stop", "-t", std::to_string(seconds.count()), record.container->id},
       .limit = grace + kStopSlack});
  co_return ended(record.name, stopped);
}

Task<Result<std::vector<docker::ListedContainer>>> DockerDriver::containers(Engine of, milliseconds limit) {
  SKIFF_CO_TRY(auto key, state().signing_key());
  SKIFF_CO_TRY(auto state_name, key.fingerprint());
  SKIFF_CO_TRY(auto answer, co_await of.call({.arguments = docker::list_arguments(state_name), .limit = limit}));
  co_return docker::parse_list(answer.out);
}

Task<> DockerDriver::ask(Hosted* of) {
  of->containers = co_await containers(of->engine, kSweepPatience);
}

Task<std::vector<DockerDriver::Hosted>> DockerDriver::containers_everywhere() {
  std::vector<Hosted> all;
  for (Engine& engine : docker::known_engines()) all.push_back({.engine = std::move(engine)});
  co_await in_parallel(all.size(), all.size(), [this, &all](std::size_t index) { return ask(&all[index]); });
  std::erase_if(all,
                [](const Hosted& one) { return !one.containers && one.containers.error().code == Errc::not_found; });
  co_return all;
}

Task<Result<std::vector<std::pair<Engine, std::string>>>> DockerDriver::containers_of(std::string name) {
  const auto all = co_await containers_everywhere();
  if (all.empty()) {
    SKIFF_CO_TRY_VOID(co_await engine());
  }
  std::vector<std::pair<Engine, std::string>> found;
  for (const Hosted& host : all) {
    if (!host.containers) {
      co_return std::unexpected{may_run_on(name, host.containers.error().message, "start or uninstall the engine")};
    }
    for (const docker::ListedContainer& one : *host.containers) {
      if (one.name == name) found.emplace_back(host.engine, one.id);
    }
  }
  co_return found;
}

Task<Result<>> DockerDriver::discard(std::string name) {
  const auto record = records().load(name);
  if (!record && record.error().code == Errc::sandbox_not_found) co_return Result<>{};
  if (record && (!record->container || record->container->engine.empty())) co_return Result<>{};
  listed_.reset();
  std::vector<std::pair<Engine, std::string>> found;
  if (record) {
    const Engine with{record->container->engine};
    auto all = co_await containers(with, kListPatience);
    if (!all && all.error().code == Errc::not_found) co_return ended(name, std::unexpected{all.error()});
    if (!all) co_return std::unexpected{std::move(all.error())};
    // The list has those of the present signing key; the record also knows one that was made with another.
    std::set<std::string> ids;
    if (!record->container->id.empty()) ids.insert(record->container->id);
    for (const docker::ListedContainer& one : *all) {
      if (one.name == name) ids.insert(one.id);
    }
    for (const std::string& id : ids) found.emplace_back(with, id);
  } else {
    // A record that cannot be read may have had a container of any engine.
    SKIFF_CO_TRY(found, co_await containers_of(name));
  }
  for (const auto& [with, id] : found) {
    const auto removed = co_await with.call({.arguments = {"rm", "--force", "--volumes", id}, .limit = kLongCall});
    SKIFF_CO_TRY_VOID(ended(name, removed));
  }
  co_return Result<>{};
}

Task<bool> DockerDriver::lives(HostRecord record) {
  if (!record.container || record.container->id.empty()) co_return false;
  bool runs = false;
  if (record.pid > 0) {
    runs = is_alive(record.process());
  } else if (!record.stopped) {
    if (!listed_ || Clock::now() - *listed_ > kListAge) {
      auto all = co_await containers(Engine{record.container->engine}, kListPatience);
      running_.clear();
      for (const docker::ListedContainer& one : all.value_or(std::vector<docker::ListedContainer>{})) {
        if (one.is_running) running_.insert(one.id);
      }
      listed_ = Clock::now();
    }
    runs = running_.contains(record.container->id);
  }
  if (!runs && !record.stopped && record.has_answered()) co_await keep_log(std::move(record));
  co_return runs;
}

Task<Result<std::string>> DockerDriver::log_of(HostRecord record) {
  SKIFF_CO_TRY(auto log, co_await Engine{record.container->engine}.call(
                             {.arguments = {"logs", "--tail", kShownLog, record.container->id}}));
  co_return log.out + log.err;
}

Task<Result<std::optional<std::string>>> DockerDriver::agent_log(std::string name) {
  SKIFF_CO_TRY(auto record, records().load(name));
  if (!record.container || record.container->id.empty()) co_return std::nullopt;
  SKIFF_CO_TRY(auto log, co_await log_of(std::move(record)));
  co_return log;
}

Task<> DockerDriver::keep_log(HostRecord record) {
  const auto file = records().log(record.name);
  if (std::filesystem::exists(file)) co_return;
  // Without it the end has no reason.
  if (auto log = co_await log_of(std::move(record))) {
    [[maybe_unused]] const auto written = write_private_file(file, *log);
  }
}

Task<> DockerDriver::sweep() {
  if (swept_ && Clock::now() - *swept_ < kBetweenSweeps) co_return;
  swept_ = Clock::now();
  not_asked_.clear();
  for (const Hosted& host : co_await containers_everywhere()) {
    if (host.containers) {
      co_await remove_unknown(&host);
    } else {
      not_asked_.push_back(host.containers.error().message);
    }
  }
}

Task<> DockerDriver::remove_unknown(const Hosted* of) {
  for (const docker::ListedContainer& one : *of->containers) {
    // A record that cannot be read may be that of the container.
    const auto is_known = [this, &one] {
      const auto record = records().load(one.name);
      return record ? record->id == one.sandbox_id : record.error().code != Errc::sandbox_not_found;
    };
    if (is_known()) continue;
    // A creation or removal of the sandbox holds this lock.
    auto lock = co_await FileLock::acquire(records().lock_file(), one.name, milliseconds{0});
    if (!lock || is_known()) continue;
    (void)co_await of->engine.call({.arguments = {"rm", "--force", "--volumes", one.id}, .limit = kLongCall});
  }
}

Task<Result<SandboxPage>> DockerDriver::list(SandboxFilter filter) {
  // A directory that has had no sandbox has no containers.
  if (std::filesystem::exists(records().lock_file())) co_await sweep();
  SKIFF_CO_TRY(auto page, co_await HostDriver::list(std::move(filter)));
  page.not_asked = not_asked_;
  co_return page;
}

void DockerDriver::describe_more(const HostRecord& record, Sandbox& sandbox) const {
  if (!record.container) return;
  const HostContainer& container = *record.container;
  sandbox.details["engine"] = container.engine;
  sandbox.details["container"] = docker::container_name(record);
  sandbox.details["network"] = container.is_closed() ? "none" : "open";
  sandbox.details.erase("folder");
  const auto limit = [](std::uint64_t amount, std::string_view unit, std::string_view what) {
    return amount == 0 ? std::string{what} + " not limited"
                       : std::to_string(amount) + std::string{unit}.append(" ").append(what);
  };
  sandbox.details["limits"] = limit(static_cast<std::uint64_t>(container.most_processes), "", "processes") + ", " +
                              limit(container.memory_bytes >> 20U, " MiB", "memory") + ", " +
                              limit(container.cpu_millis, " thousandths", "of a core") + ", disk not limited";
}

Task<Result<protocol::Stream>> DockerDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto record, co_await running(name));
  SKIFF_CO_TRY(auto dialects, ports_of_dialects(record.dialects));
  const bool is_dialect = std::ranges::any_of(dialects, [port](const DialectPort& one) { return one.number == port; });
  // The agent passes nothing on to its own listeners.
  if (port == record.container->agent_port) co_return co_await connect_agent(std::move(record), kConnectPatience);
  if (is_dialect) co_return relays_.connect(Engine{record.container->engine}, record.container->id, port);
  SKIFF_CO_TRY(auto endpoint, endpoint_of(record, {.scope = "ports"}));
  co_return co_await ports_.connect(std::move(endpoint), port);
}

Task<> DockerDriver::close() {
  co_await ports_.close();
  co_await relays_.close();
}

Task<std::vector<Check>> DockerDriver::examine() {
  std::vector<Check> checks = examine_parts();
  auto found = co_await engine();
  Check check{
      .what = "engine", .passed = found.has_value(), .detail = found ? found->program() : found.error().message};
  if (!found) {
    check.remedy = "install and start docker, podman or nerdctl, or name one with SKIFF_ENGINE";
    checks.push_back(std::move(check));
    co_return checks;
  }
  auto info = co_await found->call({.arguments = {"info", "--format", "{{json .}}"}});
  auto abilities = info ? docker::parse_info(info->out) : std::unexpected{info.error()};
  checks.push_back(std::move(check));
  if (!abilities) {
    checks.push_back({.what = "limits", .passed = false, .detail = abilities.error().message});
    co_return checks;
  }
  const auto word = [](bool holds) { return holds ? " yes" : " no"; };
  checks.push_back({.what = "limits",
                    .passed = true,
                    .detail = std::string{"memory"} + word(abilities->memory) + ", CPU" + word(abilities->cpu) +
                              ", processes" + word(abilities->pids) + ", disk no" +
                              (abilities->rootless ? "; without root" : "")});
  co_return checks;
}

Task<Result<PodOptions>> DockerDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return fail(Errc::invalid_field,
                 "the network of a container is chosen when it is created: create the sandbox again with --network",
                 "--driver");
}

}  // namespace skiff::container
