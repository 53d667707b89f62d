#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/agent/stream/port_connections.hpp"
#include "container/drivers/serve/server_client.hpp"
#include "container/sandbox/driver.hpp"
#include "container/serve/api/bodies.hpp"

namespace skiff::container {

/// Sandboxes of a `skiff serve`, by its URL and an API key. It needs no kubeconfig: the server's templates decide how
/// sandboxes are made up, and the key decides what is allowed. The server keeps names, labels and owners within the
/// key's tenant. Agents are reached through the server's gateway.
///
/// The server's errors keep their codes and texts.
class ServedDriver final : public Driver {
 public:
  /// Fails as `ServerClient::open` does.
  [[nodiscard]] static Result<std::unique_ptr<ServedDriver>> open(Executor executor, ServedOptions options);

  [[nodiscard]] std::string_view name() const noexcept override { return "serve"; }
  [[nodiscard]] std::string place() const override { return "driver serve, " + server_->url(); }
  [[nodiscard]] std::string_view notice() const noexcept override;

  /// `invalid_field` for options that templates decide. If the answer is lost, the request is repeated and creates no
  /// second sandbox.
  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  /// `invalid_field` for `force`, and for not waiting: only the server deals with nodes.
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;

  /// The endpoint leads through the gateway and uses the API key. Its token is for clients that reach the agent without
  /// the gateway.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  /// Connects through the gateway and the agent, also to servers on loopback.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;

  [[nodiscard]] Task<std::vector<Check>> examine() override;
  [[nodiscard]] Task<> close() override;

  /// `invalid_field`: the server decides about objects and networks.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 private:
  ServedDriver(Executor executor, std::unique_ptr<ServerClient> server);

  /// The endpoint of its agent through the gateway, with only the API key.
  [[nodiscard]] Endpoint way_to(std::string_view name) const;
  /// Removes the sandbox that this creation has created, if any.
  [[nodiscard]] Task<Result<bool>> take_back(std::string name, std::string creation);
  /// Removes the sandbox with this id; with an empty id, any that has the name.
  [[nodiscard]] Task<Result<bool>> remove_known(std::string name, std::string id, Removal how);
  /// Converts the server's view of the sandbox `name`, or of any if that is empty. invalid_request for an invalid view.
  [[nodiscard]] Result<Sandbox> sandbox_of(serve::own::SandboxView view, std::string_view name) const;
  [[nodiscard]] Result<Sandbox> read_sandbox(const ServerAnswer& answer, std::string_view name) const;

  std::unique_ptr<ServerClient> server_;
  PortConnections ports_;
};

}  // namespace skiff::container
