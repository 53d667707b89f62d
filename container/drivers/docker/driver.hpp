#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/agent/stream/port_connections.hpp"
#include "container/drivers/docker/answers.hpp"
#include "container/drivers/docker/engine.hpp"
#include "container/drivers/docker/relays.hpp"
#include "container/host/driver.hpp"

namespace skiff::container {

/// Sandboxes as containers of docker, podman or nerdctl, by their command line (docs/adr/0038). skiffd is process 1 of
/// a container; skiff puts it in before each start. The agent listens on a port of 127.0.0.1, or, in a container
/// without a network, is reached by `exec`.
class DockerDriver final : public HostDriver {
 public:
  DockerDriver(Executor executor, StateDirectory state);

  [[nodiscard]] std::string_view notice() const noexcept override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<Result<std::optional<std::string>>> agent_log(std::string name) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  /// `invalid_field`: the network of a container is chosen when it is created.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<> close() override;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool takes_images() const noexcept override { return true; }
  /// The engine has the log.
  [[nodiscard]] bool logs_end_with_agents() const noexcept override { return false; }
  [[nodiscard]] Result<> prepare(const SandboxSpec& spec, HostRecord& record) override;
  [[nodiscard]] Task<Result<HostRecord>> launch(HostRecord record, std::string public_key, int lock,
                                                std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<protocol::Stream>> connect_agent(HostRecord record,
                                                             std::chrono::milliseconds limit) override;
  [[nodiscard]] Task<Result<>> end_all(HostRecord record, std::chrono::milliseconds grace) override;
  [[nodiscard]] Task<bool> lives(HostRecord record) override;
  [[nodiscard]] Task<Result<>> discard(std::string name) override;
  void describe_more(const HostRecord& record, Sandbox& sandbox) const override;

  /// The engine for new containers.
  [[nodiscard]] Task<Result<docker::Engine>> engine();
  /// Creates the container of a record, whose engine is chosen. The record on disk has its id.
  [[nodiscard]] Task<Result<HostRecord>> create_container(HostRecord record, std::chrono::milliseconds wait);
  /// Starts the container with a fresh agent in it.
  [[nodiscard]] Task<Result<>> start_container(const HostRecord* record, docker::Engine with, std::string public_key);
  /// Waits until the agent of a started container answers.
  [[nodiscard]] Task<Result<>> await_agent(const HostRecord* record, docker::Engine of, Clock::time_point until);
  [[nodiscard]] Task<Result<docker::ContainerState>> inspect(docker::Engine with, HostRecord record);
  /// An engine's containers of this state directory.
  struct Hosted {
    docker::Engine engine;
    Result<std::vector<docker::ListedContainer>> containers = {};
  };
  [[nodiscard]] Task<Result<std::vector<docker::ListedContainer>>> containers(docker::Engine of,
                                                                              std::chrono::milliseconds limit);
  [[nodiscard]] Task<> ask(Hosted* of);
  /// The containers of each engine that is installed.
  [[nodiscard]] Task<std::vector<Hosted>> containers_everywhere();
  /// The ids of the containers of a sandbox whose record cannot be read, with their engines. `sandbox_failed`
  /// (no_engine) if an engine does not answer, or none is installed.
  [[nodiscard]] Task<Result<std::vector<std::pair<docker::Engine, std::string>>>> containers_of(std::string name);
  /// Removes containers that have no record: their launcher was killed while it created or removed them.
  [[nodiscard]] Task<> sweep();
  [[nodiscard]] Task<> remove_unknown(const Hosted* of);
  /// The last lines of a container's log.
  [[nodiscard]] Task<Result<std::string>> log_of(HostRecord record);
  /// Keeps the log of a container that has ended, as the log of its agent.
  [[nodiscard]] Task<> keep_log(HostRecord record);

  docker::Relays relays_;
  PortConnections ports_;
  std::optional<docker::Engine> engine_;
  std::set<std::string> running_;  ///< ids of the running containers, as they were at `listed_`
  std::optional<Clock::time_point> listed_;
  std::optional<Clock::time_point> swept_;
  std::vector<std::string> not_asked_;  ///< engines that did not answer the last sweep, with what they said
};

}  // namespace skiff::container
