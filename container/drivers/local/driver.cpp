#include "container/drivers/local/driver.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/kernel_features.hpp"
#include "container/host/agent.hpp"
#include "container/sandbox/dialects.hpp"
#include "container/sandbox/pod_options.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kThisHost = "127.0.0.1";

}  // namespace

std::string_view LocalDriver::notice() const noexcept {
  return "the local driver does not isolate: commands run on this machine, as you";
}

Result<> LocalDriver::prepare(const SandboxSpec& spec, HostRecord& /*record*/) {
  return refuse_pod_options(spec.pod, name());
}

Task<Result<HostRecord>> LocalDriver::launch(HostRecord record, std::string public_key, int /*lock*/,
                                             milliseconds wait) {
  SKIFF_CO_TRY(auto skiffd, find_skiffd());
  SKIFF_CO_TRY(auto dialects, ports_of_dialects(record.dialects));
  const Executor executor = co_await boost::asio::this_coro::executor;
  SKIFF_CO_TRY(auto agent, spawn_agent(executor, std::move(skiffd), record, records(), public_key));
  record.set_process(agent.process);
  SKIFF_CO_TRY_VOID(records().save(record));
  auto ports = co_await read_ports(std::move(agent.output), 1 + dialects.size(), wait);
  if (!ports) {
    const bool late = ports.error().code == Errc::timeout;
    co_return not_up(record, late ? FailureReason::not_ready : FailureReason::exited, ports.error().message);
  }
  record.port = ports->front();
  for (std::size_t i = 0; i < dialects.size(); ++i) {
    record.dialect_addresses.emplace(dialects[i].name, std::string{kThisHost} + ":" + std::to_string((*ports)[i + 1]));
  }
  co_return record;
}

Task<Result<protocol::Stream>> LocalDriver::connect_agent(HostRecord record, milliseconds limit) {
  SKIFF_CO_TRY(auto address, protocol::Address::ip(kThisHost, record.port));
  const Executor executor = co_await boost::asio::this_coro::executor;
  co_return co_await protocol::connect(address, limit, executor);
}

Task<Result<>> LocalDriver::end_all(HostRecord record, milliseconds grace) {
  // Find also agents whose record was never written or cannot be read. This scans the processes of all users, which may
  // take long.
  auto find = [root = records().root(record.name)] { return find_agents(root); };
  std::vector<HostProcess> agents = co_await disk().run(std::move(find));
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
    auto left = co_await disk().run(std::move(look));
    if (left.empty()) co_return Result<>{};
    for (HostProcess& process : left) {
      HostProcess one = std::move(process);
      SKIFF_CO_TRY_VOID(co_await end_process(std::move(one), milliseconds{0}));
    }
  }
  co_return fail(Errc::timeout, "processes of sandbox \"" + record.name + "\" reappear as fast as they are killed");
}

Task<Result<protocol::Stream>> LocalDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto record, co_await running(name));
  std::string at = std::string{kThisHost} + ":" + std::to_string(port);
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
  std::vector<Check> checks = examine_parts();
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

}  // namespace skiff::container
