#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/agent/stream/port_connections.hpp"
#include "container/drivers/box/remains/remains.hpp"
#include "container/host/agent.hpp"
#include "container/host/driver.hpp"

namespace skiff::container {

/// Sandboxes on this machine that are isolated without root and without other programs: each agent is process 1 of
/// namespaces of its own (docs/adr/0034). It listens on a Unix socket in its sandbox's directory, which only its owner
/// reaches, and has no network.
class BoxDriver final : public HostDriver {
 public:
  BoxDriver(Executor executor, StateDirectory state);

  [[nodiscard]] std::string_view notice() const noexcept override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<Result<>> check_host() override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  /// `invalid_field`: a box has no network that could be changed.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<bool> offers_egress() override { co_return true; }
  [[nodiscard]] Task<Result<EgressState>> set_egress(std::string name, EgressChange change) override;
  [[nodiscard]] Task<Result<std::string>> egress_log(std::string name) override;
  [[nodiscard]] Task<Result<>> follow_egress_log(std::string name,
                                                 std::function<Result<>(std::string_view lines)> take) override;
  [[nodiscard]] Task<Result<MountedLayer>> layer(std::string name) override;
  [[nodiscard]] Task<> close() override;

 private:
  [[nodiscard]] Result<> prepare(const SandboxSpec& spec, HostRecord& record) override;
  [[nodiscard]] Task<Result<HostRecord>> launch(HostRecord record, std::string public_key, int lock,
                                                std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<protocol::Stream>> connect_agent(HostRecord record,
                                                             std::chrono::milliseconds limit) override;
  [[nodiscard]] Task<Result<>> end_all(HostRecord record, std::chrono::milliseconds grace) override;
  /// Reads the lines of a start until there are as many listeners, and notes the process of the box as soon as it is
  /// known.
  [[nodiscard]] Task<Result<HostRecord>> follow_start(AgentLines* lines, HostRecord record, std::size_t listeners);
  /// Connects to one of its Unix sockets, on which its process 1 must listen.
  [[nodiscard]] Task<Result<protocol::Stream>> connect_box(HostRecord record, std::string socket,
                                                           std::chrono::milliseconds limit);
  /// Removes the control groups of a sandbox whose processes have ended.
  [[nodiscard]] Task<> remove_groups(std::string name);
  [[nodiscard]] Task<std::vector<std::string>> find_running() override;
  [[nodiscard]] bool has_own_files(const std::filesystem::path& directory) const override;
  /// What runs on directories of this driver, by the mounts of all processes.
  [[nodiscard]] Task<std::vector<box::RunningBox>> boxes_that_run();
  void describe_more(const HostRecord& record, Sandbox& sandbox) const override;

  PortConnections ports_;
};

}  // namespace skiff::container
