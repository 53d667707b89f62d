#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/agent/signing_key.hpp"
#include "container/sandbox/driver.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container {

/// One agent, and who may speak to it. Of the credentials the key wins, then the file, then the token; without any,
/// requests have none.
struct DirectOptions {
  std::string url = {};         ///< http://HOST:PORT, https://HOST, with a path before the routes or not; unix:///PATH
  std::string token = {};       ///< a bearer token
  std::string token_file = {};  ///< its first word is the token; read again for each connection
  std::string key_file = {};    ///< PEM of an Ed25519 private key, whose public half the agent has: it signs tokens
  std::string sandbox_id = {};  ///< for whom signed tokens are; empty: the name that a command gives
  /// PEM file of the CA certificates that an https:// agent is verified with; empty: the system's.
  std::string agent_certificate_authority = {};
  std::string agent_server_name = {};  ///< for whom its certificate is; empty: the host of the URL
};

/// A skiffd that somebody else has started, wherever it runs: it is used, and neither made nor removed. Its name is
/// what the caller calls it: any will do.
class DirectDriver final : public Driver {
 public:
  /// Reads the URL and the files; nothing is sent. `missing_field` without a URL, `invalid_field`, or what reading a
  /// file says.
  [[nodiscard]] static Result<std::unique_ptr<DirectDriver>> open(Executor executor, DirectOptions options);

  [[nodiscard]] std::string_view name() const noexcept override { return "direct"; }
  /// The agent, under whatever name.
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  /// The one agent, by the id that it says it has. Nobody owns it, so it is everybody's.
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;
  /// The agent has been asked once, so that a wrong address or token is told before anything else is done. A lifetime
  /// other than the usual one needs a key.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  /// A port of the host that the URL names.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;

  /// `invalid_field`: what is there was not made here.
  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override;
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 private:
  DirectDriver(Executor executor, DirectOptions options);

  [[nodiscard]] Result<> read_url();
  [[nodiscard]] Result<std::string> token_for(const std::string& name, const TokenGrant& grant) const;
  [[nodiscard]] Endpoint endpoint_of(const std::string& name, TokenGrant grant) const;
  /// What /v1/version says; null where the token may not ask for it.
  [[nodiscard]] Task<Result<nlohmann::json>> ask(std::string name);
  [[nodiscard]] std::string how_to_be_let_in() const;

  Executor executor_;
  DirectOptions options_;
  std::string url_;  ///< for people
  std::string path_prefix_;
  protocol::HttpClientOptions client_;
  std::optional<SigningKey> key_;
  std::optional<nlohmann::json> version_;
};

}  // namespace skiff::container
