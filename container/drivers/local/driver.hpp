#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/host/driver.hpp"

namespace skiff::container {

/// Sandboxes without a cluster and without isolation: each agent listens on a free port of 127.0.0.1, and commands run
/// as the calling user.
class LocalDriver final : public HostDriver {
 public:
  explicit LocalDriver(StateDirectory state) : HostDriver{"local", std::move(state)} {}

  [[nodiscard]] std::string_view notice() const noexcept override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  /// `invalid_field`: this driver has no networks.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;

 private:
  [[nodiscard]] Result<> prepare(const SandboxSpec& spec, HostRecord& record) override;
  [[nodiscard]] Task<Result<HostRecord>> launch(HostRecord record, std::string public_key, int lock,
                                                std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<protocol::Stream>> connect_agent(HostRecord record,
                                                             std::chrono::milliseconds limit) override;
  [[nodiscard]] Task<Result<>> end_all(HostRecord record, std::chrono::milliseconds grace) override;
};

}  // namespace skiff::container
