#include "container/drivers/box/egress/proxy_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"
#include "base/small_file.hpp"
#include "container/drivers/box/launch.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/serve.hpp"
#include "container/egress/terminate/file_terminator.hpp"
#include "container/host/agent.hpp"
#include "container/host/state_directory.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/net/trust/program_trust.hpp"

namespace skiff::container::box {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};
constexpr std::chrono::milliseconds kBetweenConnects{5};
constexpr std::size_t kLongestAnswer = 4096;

/// The files that the proxy fills with certificates. They are bound into the box before, so they stay the same files.
Result<> create_certificates(const std::filesystem::path& directory) {
  for (const std::string_view name : protocol::kTrustFiles) {
    const auto path = directory / std::string{egress::kTrustPrefix}.append(name);
    const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644)};
    // The box's user reads it; on this machine the directory above is closed to others.
    if (!file || ::fchmod(file.get(), 0644) != 0) {
      return std::unexpected{system_error(errno, "create \"" + path.string() + "\"")};
    }
  }
  return {};
}

}  // namespace

Result<> plan_egress(const SandboxSpec& spec, const std::filesystem::path& state, HostRecord& record) {
  SKIFF_TRY(auto rules, egress::rules_of_secrets(egress::SecretStore{state}, spec.egress_secrets));
  rules.insert(rules.end(), spec.egress.begin(), spec.egress.end());
  SKIFF_TRY(auto variables, egress::variables_of_secrets(egress::SecretStore{state}, spec.egress_secrets));
  if (!spec.has_egress() && rules.empty()) return {};
  if (!record.network.empty()) {
    return fail(Errc::invalid_field, "--egress names all that the box may reach: omit --network open", "--egress");
  }
  SKIFF_TRY(const auto policy, egress::Policy::parse(rules));
  record.egress = policy.rules();
  record.egress_secrets = spec.egress_secrets;
  record.is_fenced = true;
  // A variable that the user has set stays.
  record.env.merge(variables);
  return {};
}

Result<UniqueFd> prepare_egress(const HostRecord& record, const std::filesystem::path& directory) {
  SKIFF_TRY(const auto policy, egress::Policy::parse(record.egress));
  SKIFF_TRY_VOID(policy.save(directory / egress::kPolicyFile));
  if (!record.egress_secrets.empty()) {
    SKIFF_TRY_VOID(write_private_file(directory / egress::kSecretsFile, protocol::to_json(record.egress_secrets)));
    SKIFF_TRY_VOID(create_certificates(directory));
  }
  return bind_socket(directory, std::string{egress::kControlSocket});
}

namespace {

Result<HostProcess> start_proxy(const EgressSockets& sockets, const HostRecord& record,
                                const std::filesystem::path& directory) {
  const UniqueFd log{
      ::open((directory / "egress-proxy.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
  return start_daemon({.argv = {"/proc/self/exe", "egress", "serve", directory.string(), record.name,
                                std::to_string(record.pid), std::to_string(record.started_ticks)},
                       .directory = "/",
                       .input = sockets.sandbox.get(),
                       .output = sockets.control.get(),
                       .errors = log.get(),
                       .is_daemon = true});
}

/// Lets the proxy read its policy, and waits until it judges by it.
Task<Result<>> reload_egress(HostRecord record, std::filesystem::path directory) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::sandbox_not_running, "the egress proxy of \"" + record.name + "\" " + why, "name");
  };
  const Executor executor = co_await boost::asio::this_coro::executor;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  Timer timer{executor};
  auto connected = connect_socket(directory, std::string{egress::kControlSocket});
  // A proxy that has just been started may not listen yet.
  while (!connected && is_alive(record.egress_proxy()) && std::chrono::steady_clock::now() < until) {
    timer.expires_after(kBetweenConnects);
    co_await timer.async_wait(use_task);
    connected = connect_socket(directory, std::string{egress::kControlSocket});
  }
  if (!connected) co_return refuse("does not run: skiff stop and skiff start run it again");
  if (peer_process(*connected) != record.egress_pid) co_return refuse("is another process");
  protocol::Stream stream{executor, std::move(*connected), "egress proxy"};
  std::string said;
  std::array<char, 512> block{};
  while (said.size() < kLongestAnswer) {
    const auto got = co_await stream.read_some(block, kPatience);
    if (!got) co_return refuse("does not answer: " + got.error().message);
    if (*got == 0) break;
    said.append(block.data(), *got);
  }
  if (said == egress::kDone) co_return Result<>{};
  co_return refuse("keeps its policy: " + said);
}

}  // namespace

Task<Result<HostRecord>> start_egress(EgressSockets sockets, HostRecord record, std::filesystem::path directory) {
  SKIFF_CO_TRY(const auto proxy, start_proxy(sockets, record, directory));
  sockets = {};  // the proxy alone listens from now on
  record.egress_pid = proxy.pid;
  record.egress_ticks = proxy.started_ticks;
  SKIFF_CO_TRY_VOID(co_await reload_egress(record, std::move(directory)));
  co_return record;
}

Task<Result<HostRecord>> change_egress(HostRecord record, const HostRecords* records, EgressChange change) {
  if (!record.has_egress()) {
    co_return fail(Errc::invalid_field,
                   "\"" + record.name + "\" has no egress by name: skiff up --egress HOST creates a sandbox that has",
                   "name");
  }
  if (change.is_empty()) co_return record;
  SKIFF_CO_TRY(const auto policy, egress::Policy::after(record.egress, change.rules, change.added, change.removed));
  const auto directory = records->directory(record.name);
  const bool runs = !record.stopped && is_alive(record.process());
  // The file first: the rules of the record are in force, or will be at the next start.
  SKIFF_CO_TRY_VOID(policy.save(directory / egress::kPolicyFile));
  record.egress = policy.rules();
  record.is_fenced = true;
  SKIFF_CO_TRY_VOID(records->save(record));
  if (runs) SKIFF_CO_TRY_VOID(co_await reload_egress(record, directory));
  co_return record;
}

std::vector<UsedSecret> secrets_of(const HostRecord& record, const std::filesystem::path& state) {
  std::vector<UsedSecret> all;
  for (const std::string& name : record.egress_secrets) {
    UsedSecret one{.name = name};
    if (auto found = egress::SecretStore{state}.get(name)) {
      one.hosts = std::move(found->hosts);
      one.requests = std::move(found->requests);
      wipe(found->value);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string egress_text(const HostRecord& record, bool runs) {
  std::string text = container::egress_text(record.egress, record.egress_secrets);
  if (runs && !is_alive(record.egress_proxy())) {
    text += " (its proxy has ended: skiff stop and skiff start run it again)";
  }
  return text;
}

}  // namespace skiff::container::box
