#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/fair_turnstile.hpp"
#include "base/shares.hpp"
#include "base/task.hpp"
#include "container/serve/fleet.hpp"
#include "container/serve/gateway/gateway.hpp"
#include "container/serve/gateway/place.hpp"
#include "container/serve/gateway/preview.hpp"
#include "container/serve/key_store.hpp"
#include "container/serve/known_sandboxes.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// What `Door::Admitted::who` is where nobody shows a key.
inline constexpr std::string_view kByAccessToken = "access-token", kBySignature = "signature", kByPreview = "preview";

/// What a preview says of the key that it was made with.
[[nodiscard]] std::string preview_giver(const ApiKey& key);

/// Who may pass through the gateway, and to what. Reactor thread only.
class Door final : public Sandboxes {
 public:
  /// What it is given must outlive it.
  Door(Executor executor, Fleet* fleet, KeyCache* keys, std::size_t known = KnownSandboxes::kMost)
      : fleet_{fleet}, keys_{keys}, known_{fleet, known}, looks_{executor, kLooksAtOnce, kLooksAtOnce / 2} {}

  /// What the credential of a request allows: an API key with `use`, the access token of that very sandbox, or a
  /// preview of that very port. Nobody looks whether the sandbox is there before that.
  struct Admitted {
    Permission permission;
    std::string who;  ///< for the log
    std::optional<protocol::HttpResponse> redirect = {};
  };
  [[nodiscard]] Task<Result<Admitted>> admit(const protocol::HttpRequest* request, const Placed* placed, bool is_tls);

  /// Makes and takes the previews of a tenant's sandboxes. `unauthenticated` before there was a key.
  [[nodiscard]] Task<Result<Previews>> previews(std::string tenant);

  [[nodiscard]] Task<Result<std::string>> run_of(SandboxRef of) override;
  [[nodiscard]] Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(SandboxRef of, std::uint16_t port) override;
  [[nodiscard]] Task<Result<>> start(SandboxRef of) override;

  /// Lets go of what it knows of sandboxes, and of what that holds.
  void forget() noexcept { known_.clear(); }

 private:
  /// What a key allows; nothing if none is shown, or what may be the application's own.
  [[nodiscard]] Task<Result<std::optional<Admitted>>> by_key(const protocol::HttpRequest* request,
                                                             const Placed* placed);
  [[nodiscard]] Task<Result<Admitted>> by_access_token(std::string_view shown, const Placed* placed);
  /// The tenant whose sandbox it is that the request was signed for.
  [[nodiscard]] Task<Result<std::optional<std::string>>> signed_for(const protocol::HttpRequest* request,
                                                                    const Placed* placed);
  [[nodiscard]] Task<Result<Admitted>> by_signature(const protocol::HttpRequest* request, const Placed* placed);
  [[nodiscard]] Task<Result<std::optional<Admitted>>> by_preview(const protocol::HttpRequest* request,
                                                                 const Placed* placed, bool is_tls);
  /// Whether what a preview hangs on is there: the record, and the key.
  [[nodiscard]] Task<Result<std::optional<Giver>>> giver_of(SandboxRef of, Previews::Given given);

  /// Records that are looked at for strangers, and how many wait for that: of each source half of what is free.
  static constexpr std::size_t kLooksAtOnce = 8;
  static constexpr std::size_t kMostWaiting = 256;

  Fleet* fleet_;
  KeyCache* keys_;
  KnownSandboxes known_;
  FairTurnstile looks_;
  Shares looking_{kMostWaiting};
};

}  // namespace skiff::container::serve
