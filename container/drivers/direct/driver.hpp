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

/// The address of one agent and the credentials for it. The key wins over the file, and the file over the token;
/// without any of them, requests carry no credentials.
struct DirectOptions {
  std::string url = {};         ///< http://HOST:PORT or https://HOST, also with a path before the routes; unix:///PATH
  std::string token = {};       ///< a bearer token
  std::string token_file = {};  ///< the file's first word is the token; read again for each request
  std::string key_file = {};  ///< PEM file of the Ed25519 private key that signs tokens; the agent has its public half
  std::string sandbox_id = {};  ///< audience of signed tokens; empty: the name on the command line
  /// PEM file of the CA certificates that an https:// agent is verified with; empty: the system's.
  std::string agent_certificate_authority = {};
  std::string agent_server_name = {};  ///< name in the agent's certificate; empty: the host of the URL
};

/// Uses one skiffd that somebody else has started. This driver neither creates nor removes sandboxes. The caller may
/// give the agent any name.
class DirectDriver final : public Driver {
 public:
  /// Reads the URL and the files; sends nothing. Errors: `missing_field` without a URL, `invalid_field`, or the error
  /// of reading a file.
  [[nodiscard]] static Result<std::unique_ptr<DirectDriver>> open(Executor executor, DirectOptions options);

  [[nodiscard]] std::string_view name() const noexcept override { return "direct"; }
  /// Returns the agent, whatever `name` is.
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  /// Lists the one agent by the id that it reports. It has no owner, so every owner's list contains it.
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;
  /// Asks the agent for its version once, so that a wrong address or token is reported first. A lifetime other than the
  /// usual one needs a key.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  /// Connects to a port of the host in the URL.
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;

  /// These calls fail with `invalid_field`: skiff did not create the agent.
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
  /// The answer of /v1/version; null where the token may not read it.
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
