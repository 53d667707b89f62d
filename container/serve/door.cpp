#include "container/serve/door.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "container/sandbox/sandbox.hpp"
#include "container/serve/credential.hpp"
#include "container/serve/e2b_signature.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kAccessToken = "X-Access-Token";
/// Of the agent's API beside reading: what a key may that only uses sandboxes. Leases are the server's.
constexpr std::string_view kUse = "read exec ports";

/// Whether the request is for a tenant's namespace that is another one.
bool names_another(const Placed& placed, const std::string& tenant) {
  return !placed.namespace_name.empty() && placed.namespace_name != tenant;
}

bool shows_bearer(const protocol::Headers& headers) {
  return !headers.contains("X-API-Key") && headers.contains("Authorization");
}

}  // namespace

Task<Result<Previews>> Door::previews(std::string tenant) {
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  if (ring->token_secret.empty()) co_return fail(Errc::unauthenticated, "there are no API keys yet");
  co_return Previews::create({derived_secret(ring->token_secret, "previews/" + tenant)});
}

Task<bool> Door::shows_key_in_authorization(const protocol::Headers* headers) {
  auto bearer = presented_key({{"Authorization", headers->get("Authorization")}});
  co_return bearer && !bearer->empty() && (co_await keys_->find(std::move(*bearer))).has_value();
}

Task<Result<std::optional<Door::Admitted>>> Door::by_key(const protocol::HttpRequest* request, const Placed* placed) {
  const protocol::Headers& headers = request->headers;
  SKIFF_CO_TRY(auto shown, shows_bearer(headers) ? presented_key(headers) : key_field(headers));
  if (shown.empty()) co_return std::nullopt;
  auto key = co_await keys_->find(std::move(shown));
  // A Bearer of something else may be the application's own; another credential may be there beside it.
  if (!key && shows_bearer(headers)) co_return std::nullopt;
  if (!key) co_return std::unexpected{std::move(key.error())};
  if (!key->allows(KeyScope::use)) {
    co_return fail(Errc::insufficient_scope, "this API key needs the scope use");
  }
  if (names_another(*placed, key->tenant)) co_return std::unexpected{no_such_sandbox(placed->sandbox)};
  Admitted admitted{.permission = {.tenant = key->tenant, .scope = std::string{kUse}}, .who = key->name};
  const bool is_in_authorization = shows_bearer(headers) || co_await shows_key_in_authorization(&headers);
  if (is_in_authorization) admitted.permission.credential_fields = {"Authorization"};
  if (key->expires_ms) admitted.permission.ends = WallTime{std::chrono::milliseconds{*key->expires_ms}};
  co_return admitted;
}

Task<Result<Door::Admitted>> Door::by_access_token(std::string_view shown, const Placed* placed) {
  // Digests, so that no time tells how much of it was right.
  const auto opens = [digest = sha256_hex(shown)](const std::string& token) { return sha256_hex(token) == digest; };
  SKIFF_CO_TRY(auto tenant, co_await fleet_->tenant_by_token(placed->sandbox, opens));
  if (!tenant) co_return fail(Errc::unauthenticated, "the access token is not one of this sandbox");
  if (names_another(*placed, *tenant)) co_return std::unexpected{no_such_sandbox(placed->sandbox)};
  Admitted admitted{.permission = {.tenant = std::move(*tenant), .scope = std::string{kUse}}, .who = "access-token"};
  if (placed->port != kE2bPort) admitted.permission.credential_fields = {std::string{kAccessToken}};
  co_return admitted;
}

Task<Result<Door::Admitted>> Door::by_signature(const protocol::HttpRequest* request, const Placed* placed) {
  // Whoever shows it may wake the sandbox, so it is looked at here; the agent does it again.
  const auto opens = [request](const std::string& token) { return e2b::is_signed(*request, token, wall_now()); };
  SKIFF_CO_TRY(auto tenant, co_await fleet_->tenant_by_token(placed->sandbox, opens));
  if (!tenant) co_return fail(Errc::unauthenticated, "the signature is not valid");
  co_return Admitted{.permission = {.tenant = std::move(*tenant), .scope = "exec"}, .who = "signature"};
}

Task<Result<std::optional<Door::Admitted>>> Door::by_preview(const protocol::HttpRequest* request, const Placed* placed,
                                                             bool is_tls) {
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  std::optional<Error> refusal;
  for (const std::string& tenant : all) {
    SKIFF_CO_TRY(auto previews, co_await this->previews(tenant));
    auto shown = previews.shown(*request, *placed, is_tls, wall_now());
    if (!shown) {
      refusal = std::move(shown.error());
    } else if (*shown) {
      Admitted admitted{.permission = {.tenant = tenant, .scope = "ports", .ends = (*shown)->ends}, .who = "preview"};
      admitted.redirect = std::move((*shown)->redirect);
      co_return admitted;
    }
  }
  if (refusal) co_return std::unexpected{std::move(*refusal)};
  co_return std::nullopt;
}

Task<Result<Door::Admitted>> Door::admit(const protocol::HttpRequest* request, const Placed* placed, bool is_tls) {
  SKIFF_CO_TRY(auto with_key, co_await by_key(request, placed));
  if (with_key) co_return std::move(*with_key);
  if (const auto token = request->headers.find(kAccessToken)) co_return co_await by_access_token(*token, placed);
  if (placed->port == kE2bPort && request->target.parameter("signature")) {
    co_return co_await by_signature(request, placed);
  }
  SKIFF_CO_TRY(auto with_preview, co_await by_preview(request, placed, is_tls));
  if (with_preview) co_return std::move(*with_preview);
  co_return fail(Errc::unauthenticated, "send an API key (X-API-Key), the sandbox's access token or a preview's link");
}

Task<Result<std::string>> Door::run_of(SandboxRef of) {
  return known_.run_of(std::move(of));
}

Task<Result<Endpoint>> Door::agent(SandboxRef of, TokenGrant grant, Look look) {
  return known_.agent(std::move(of), std::move(grant), look);
}

Task<Result<protocol::Stream>> Door::dial(SandboxRef of, std::uint16_t port) {
  co_return co_await fleet_->dial(std::move(of.tenant), std::move(of.sandbox), port);
}

Task<Result<>> Door::start(SandboxRef of) {
  log::info("waking", {{"sandbox", of.sandbox}, {"tenant", of.tenant}});
  co_return co_await fleet_->wake(std::move(of.tenant), std::move(of.sandbox));
}

}  // namespace skiff::container::serve
