#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/agent/port_connections.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/own_bodies.hpp"
#include "container/served/server_client.hpp"

namespace skiff::container {

/// Sandboxes of a `skiff serve`, by its URL and an API key: there is no kubeconfig here, and the server decides what a
/// sandbox is made of (its templates) and what the key allows. Names, labels and owners are kept by the server within
/// the tenant of the key. Agents are reached through the server's gateway.
///
/// Errors of the server come with its own codes and sentences.
class ServedDriver final : public Driver {
 public:
  /// As `ServerClient::open`.
  [[nodiscard]] static Result<std::unique_ptr<ServedDriver>> open(Executor executor, ServedOptions options);

  [[nodiscard]] std::string_view name() const noexcept override { return "serve"; }
  [[nodiscard]] std::string place() const override { return "driver serve, " + server_->url(); }
  [[nodiscard]] std::string_view notice() const noexcept override;

  /// `invalid_field` for what templates decide. A lost answer is asked for again and makes no second one.
  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  /// `invalid_field` for `force`, and for not waiting: nodes are the server's.
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;

  /// Through the gateway, by the API key. The token is for those who reach the agent without it.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  /// Through the gateway and the agent, to what listens on loopback, too.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;

  [[nodiscard]] Task<std::vector<Check>> examine() override;
  [[nodiscard]] Task<> close() override;

  /// `invalid_field`: objects and networks are the server's.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 private:
  ServedDriver(Executor executor, std::unique_ptr<ServerClient> server);

  /// To its agent, through the gateway, by the API key alone.
  [[nodiscard]] Endpoint way_to(std::string_view name) const;
  /// Removes the one that this creation has made, if any.
  [[nodiscard]] Task<Result<bool>> take_back(std::string name, std::string creation);
  /// The one that has this id; empty: whichever has the name.
  [[nodiscard]] Task<Result<bool>> remove_known(std::string name, std::string id, Removal how);
  /// Of the one that has this name; empty: of any. invalid_request for what no server says.
  [[nodiscard]] Result<Sandbox> sandbox_of(serve::own::SandboxView view, std::string_view name) const;
  [[nodiscard]] Result<Sandbox> read_sandbox(const ServerAnswer& answer, std::string_view name) const;

  std::unique_ptr<ServerClient> server_;
  PortConnections ports_;
};

}  // namespace skiff::container
