#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/async/fair_semaphore.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "container/serve/fleet/fleet.hpp"
#include "container/serve/fleet/known_sandboxes.hpp"
#include "container/serve/gateway/destination.hpp"
#include "container/serve/gateway/gateway.hpp"
#include "container/serve/gateway/preview.hpp"
#include "container/serve/keys/key_store.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// The values of `Authorizer::Admitted::who` for requests without a key.
inline constexpr std::string_view kByAccessToken = "access-token", kByTrafficToken = "traffic-token",
                                  kBySignature = "signature", kByPreview = "preview";

/// The name in a preview of the key with which it was created.
[[nodiscard]] std::string preview_giver(const ApiKey& key);

/// Decides which requests may pass through the gateway, and to which sandboxes. Reactor thread only.
class Authorizer final : public Sandboxes {
 public:
  /// The arguments must outlive it.
  Authorizer(Executor executor, Fleet* fleet, KeyCache* keys, std::size_t known = KnownSandboxes::kMost)
      : fleet_{fleet}, keys_{keys}, known_{fleet, known}, looks_{executor, kLooksAtOnce, kLooksAtOnce / 2} {}

  /// The rights of a request's credential: an API key with the scope `use`, the access token of that sandbox, its
  /// traffic token for ports, or a preview of that port. The sandbox is not looked up before the credential was
  /// checked.
  struct Admitted {
    Permission permission;
    std::string who;  ///< name for the log
    std::optional<protocol::HttpResponse> redirect = {};
  };
  [[nodiscard]] Task<Result<Admitted>> admit(const protocol::HttpRequest* request, const Destination* destination,
                                             bool is_tls);

  /// Creates and verifies the previews of a tenant's sandboxes. `unauthenticated` if there was never a key.
  [[nodiscard]] Task<Result<Previews>> previews(std::string tenant);

  [[nodiscard]] Task<Result<std::string>> run_of(SandboxRef of) override;
  [[nodiscard]] Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(SandboxRef of, std::uint16_t port) override;
  [[nodiscard]] Task<Result<>> start(SandboxRef of) override;

  /// Number of tenants' secrets that were derived for previews so far.
  [[nodiscard]] std::size_t derived() const noexcept { return derived_; }

  /// Forgets all known sandboxes, and frees what they hold.
  void forget() noexcept { known_.clear(); }

 private:
  /// The rights of a key; nullopt if the request has none, or only a credential that may be the application's own.
  [[nodiscard]] Task<Result<std::optional<Admitted>>> by_key(const protocol::HttpRequest* request,
                                                             const Destination* destination);
  [[nodiscard]] Task<Result<Admitted>> by_token(std::string_view shown, const protocol::HttpRequest* request,
                                                const Destination* destination);
  /// The tenant of the sandbox for which the request was signed. E2B's SDKs sign with the access token alone, so a
  /// signature does not name the tenant, and the sandbox is looked for at each of them.
  [[nodiscard]] Task<Result<std::optional<std::string>>> signed_for(const protocol::HttpRequest* request,
                                                                    const Destination* destination);
  [[nodiscard]] Task<Result<Admitted>> by_signature(const protocol::HttpRequest* request,
                                                    const Destination* destination);
  [[nodiscard]] Task<Result<std::optional<Admitted>>> by_preview(const protocol::HttpRequest* request,
                                                                 const Destination* destination, bool is_tls);
  /// The giver of a preview, if its record and its key still exist.
  [[nodiscard]] Task<Result<std::optional<Giver>>> giver_of(SandboxRef of, Previews::Given given);

  /// Most records that are read at a time for unauthenticated requests, and most requests that wait for that; each
  /// source may use half of the free ones.
  static constexpr std::size_t kLooksAtOnce = 8;
  static constexpr std::size_t kMostWaiting = 256;

  Fleet* fleet_;
  KeyCache* keys_;
  KnownSandboxes known_;
  FairSemaphore looks_;
  Shares looking_{kMostWaiting};
  std::size_t derived_ = 0;
};

}  // namespace skiff::container::serve
