#include "container/serve/authorizer.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/async/with_timeout.hpp"
#include "base/log/log.hpp"
#include "container/sandbox/sandbox.hpp"
#include "container/serve/e2b/signature.hpp"
#include "container/serve/keys/credential.hpp"
#include "protocol/http/parser.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kAccessToken = "X-Access-Token";
constexpr std::string_view kTrafficToken = "E2B-Traffic-Access-Token";
/// The scopes of the agent's API for a key with the scope `use`. The server handles leases.
constexpr std::string_view kUse = "read exec ports";

/// Shorter than the gateway's limit for a connection, whose end would count as the sandbox's fault.
constexpr std::chrono::milliseconds kDialPatience{8'000};

/// The giver of a service account's previews: an account continues with its next token, so its previews end only with
/// their time, or with the sandbox.
constexpr std::string_view kByAccount = "account";

bool is_e2b_port(std::uint16_t port) {
  return port == kE2bPort || port == kE2bCodePort;
}

/// True for the routes of the code interpreter's contexts. Its clients show the traffic token alone for them. They run
/// no code.
bool is_of_contexts(const protocol::HttpRequest& request, const Destination& destination) {
  constexpr std::string_view kContexts = "/contexts";
  if (destination.port != kE2bCodePort) return false;
  const auto target = target_at(request, destination);
  if (!target || !target->starts_with(kContexts)) return false;
  const std::string_view rest = std::string_view{*target}.substr(kContexts.size());
  const auto is_plain = [](char c) { return protocol::is_token({&c, 1}) && c != '%' && c != '.'; };
  return rest.empty() ||
         (rest.front() == '/' && std::ranges::all_of(rest, [&](char c) { return c == '/' || is_plain(c); }));
}

/// True if the request names another namespace than the tenant's.
bool names_another(const Destination& destination, const std::string& tenant) {
  return !destination.namespace_name.empty() && destination.namespace_name != tenant;
}

/// Names a tenant in the tokens of its previews. Tenants with the same mark are told apart by their secrets.
std::string preview_mark(const std::string& tenant) {
  constexpr std::size_t kLetters = 8;
  return sha256_hex(tenant).substr(0, kLetters);
}

}  // namespace

std::string preview_giver(const ApiKey& key) {
  constexpr std::size_t kLetters = 32;
  return key.name.starts_with(kAccountPrefix) ? std::string{kByAccount} : key.sha256.substr(0, kLetters);
}

Task<Result<Previews>> Authorizer::previews(std::string tenant) {
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  if (ring->token_secret.empty()) co_return fail(Errc::unauthenticated, "there are no API keys yet");
  ++derived_;
  co_return Previews::create({derived_secret(ring->token_secret, "previews/" + tenant)}, preview_mark(tenant));
}

Task<Result<std::optional<Authorizer::Admitted>>> Authorizer::by_key(const protocol::HttpRequest* request,
                                                                     const Destination* destination) {
  const protocol::Headers& headers = request->headers;
  SKIFF_CO_TRY(auto shown, key_field(headers));
  std::optional<Result<ApiKey>> found;
  if (!shown.empty()) found = co_await keys_->find(shown, destination->source);
  // One of the two fields may belong to the application: a field without a valid key says nothing against the other.
  const auto bearer = bearer_key(headers);
  const bool by_bearer = !bearer.empty() && (!found || !*found);
  if (by_bearer) {
    auto other = co_await keys_->find(bearer, destination->source);
    if (other || !found) found = std::move(other);
  }
  // The request may have another credential, too.
  if (!found || (!*found && shown.empty())) co_return std::nullopt;
  if (!*found) co_return std::unexpected{std::move(found->error())};
  const ApiKey key = std::move(**found);
  if (by_bearer) shown = bearer;
  if (!key.allows(KeyScope::use)) {
    co_return fail(Errc::insufficient_scope, "this API key needs the scope use");
  }
  if (names_another(*destination, key.tenant)) co_return std::unexpected{no_such_sandbox(destination->sandbox)};
  Admitted admitted{.permission = {.tenant = key.tenant, .scope = std::string{kUse}}, .who = key.name};
  // `remove_credentials` removes all other fields that contain something in the form of a credential.
  if (by_bearer) admitted.permission.credential_fields = {"Authorization"};
  admitted.permission.giver.key = key.sha256;
  if (key.name.starts_with(kAccountPrefix)) admitted.permission.giver = {.key = {}, .account = std::move(shown)};
  if (key.expires_ms) admitted.permission.ends = WallTime{std::chrono::milliseconds{*key.expires_ms}};
  co_return admitted;
}

Task<Result<Authorizer::Admitted>> Authorizer::by_token(std::string_view shown, const protocol::HttpRequest* request,
                                                        const Destination* destination) {
  SKIFF_CO_TRY(auto token, co_await fleet_->shown_token(destination->sandbox, std::string{shown}));
  if (!token) co_return fail(Errc::unauthenticated, "the access token is not one of this sandbox");
  SKIFF_CO_TRY(const auto nonce, co_await known_.nonce({.tenant = token->tenant, .sandbox = destination->sandbox}));
  if (!shown.starts_with(nonce)) {
    co_return fail(Errc::unauthenticated, "the access token is of an earlier sandbox of this name");
  }
  if (names_another(*destination, token->tenant)) co_return std::unexpected{no_such_sandbox(destination->sandbox)};
  Admitted admitted{.permission = {.tenant = std::move(token->tenant), .scope = std::string{kUse}},
                    .who = std::string{kByAccessToken}};
  if (token->is_traffic) {
    admitted.who = kByTrafficToken;
    admitted.permission.scope = "ports";
    if (is_of_contexts(*request, *destination)) {
      // The dialect has one word for all that reaches it.
      admitted.permission.scope = "exec";
      admitted.permission.fields_behind.add(kAccessToken, token->access_token);
    }
  }
  if (!is_e2b_port(destination->port)) admitted.permission.credential_fields = {std::string{kAccessToken}};
  co_return admitted;
}

Task<Result<Authorizer::Admitted>> Authorizer::by_signature(const protocol::HttpRequest* request,
                                                            const Destination* destination) {
  // A signed request may wake the sandbox, so the signature is verified here; the agent verifies it again.
  SKIFF_CO_TRY(auto tenant, co_await signed_for(request, destination));
  if (!tenant) co_return fail(Errc::unauthenticated, "the signature is not valid");
  Admitted admitted{.permission = {.tenant = std::move(*tenant), .scope = "exec"}, .who = std::string{kBySignature}};
  // Authorization is removed, because the signature says whose file is meant.
  admitted.permission.credential_fields = {"Authorization"};
  co_return admitted;
}

Task<Result<std::optional<std::string>>> Authorizer::signed_for(const protocol::HttpRequest* request,
                                                                const Destination* destination) {
  const std::string& id = destination->sandbox;
  if (!e2b::may_be_signed(*request, wall_now())) co_return std::nullopt;
  if (!looking_.leaves_room(destination->source)) {
    co_return fail(Errc::resource_exhausted, "too many signatures from your address are being verified");
  }
  const Shares::Part waits{looking_, destination->source};
  const FairSemaphore::Permit permit = co_await looks_.acquire(destination->source);
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  std::optional<Error> failure;
  for (const std::string& tenant : all) {
    auto nonce = co_await known_.nonce({.tenant = tenant, .sandbox = id});
    if (!nonce && nonce.error().code != Errc::sandbox_not_found) failure = std::move(nonce.error());
    if (!nonce) continue;
    SKIFF_CO_TRY(auto token, co_await fleet_->access_token_of(tenant, id, std::move(*nonce)));
    if (e2b::is_signed(*request, token, wall_now())) co_return tenant;
  }
  if (failure) co_return std::unexpected{std::move(*failure)};
  co_return std::nullopt;
}

Task<Result<std::optional<Giver>>> Authorizer::giver_of(SandboxRef of, Previews::Given given) {
  SKIFF_CO_TRY(const auto nonce, co_await known_.nonce(std::move(of)));
  if (nonce != given.record) co_return std::nullopt;
  if (given.by == kByAccount) co_return Giver{};
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  for (const ApiKey& key : ring->keys) {
    if (preview_giver(key) == given.by && !key.has_ended(wall_now())) co_return Giver{.key = key.sha256};
  }
  co_return std::nullopt;
}

Task<Result<std::optional<Authorizer::Admitted>>> Authorizer::by_preview(const protocol::HttpRequest* request,
                                                                         const Destination* destination, bool is_tls) {
  SKIFF_CO_TRY(const auto tokens, Previews::tokens_of(*request, *destination, is_tls));
  if (tokens.all.empty()) co_return std::nullopt;
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  for (const std::string& tenant : all) {
    if (!tokens.name_tenant(preview_mark(tenant))) continue;
    SKIFF_CO_TRY(auto previews, co_await this->previews(tenant));
    auto shown = previews.shown(*request, *destination, is_tls, wall_now());
    if (shown && *shown) {
      SandboxRef of{.tenant = tenant, .sandbox = destination->sandbox};
      SKIFF_CO_TRY(auto giver, co_await giver_of(std::move(of), (*shown)->given));
      if (!giver) co_return fail(Errc::unauthenticated, "what this preview was made for or with is gone");
      Admitted admitted{
          .permission = {.tenant = tenant, .scope = "ports", .ends = (*shown)->ends, .giver = std::move(*giver)},
          .who = std::string{kByPreview}};
      admitted.redirect = std::move((*shown)->redirect);
      co_return admitted;
    }
  }
  if (tokens.is_link) co_return std::unexpected{Previews::invalid_link()};
  co_return std::nullopt;
}

Task<Result<Authorizer::Admitted>> Authorizer::admit(const protocol::HttpRequest* request,
                                                     const Destination* destination, bool is_tls) {
  SKIFF_CO_TRY(auto with_key, co_await by_key(request, destination));
  if (with_key) co_return std::move(*with_key);
  auto token = request->headers.find(kAccessToken);
  if (!token) token = request->headers.find(kTrafficToken);
  if (token) co_return co_await by_token(*token, request, destination);
  if (destination->port == kE2bPort && request->target.parameter("signature")) {
    co_return co_await by_signature(request, destination);
  }
  SKIFF_CO_TRY(auto with_preview, co_await by_preview(request, destination, is_tls));
  if (with_preview) co_return std::move(*with_preview);
  co_return fail(Errc::unauthenticated, "send an API key (X-API-Key), the sandbox's access token or a preview's link");
}

Task<Result<std::string>> Authorizer::run_of(SandboxRef of) {
  return known_.run_of(std::move(of));
}

Task<Result<Endpoint>> Authorizer::agent(SandboxRef of, TokenGrant grant, Look look) {
  return known_.agent(std::move(of), std::move(grant), look);
}

Task<Result<protocol::Stream>> Authorizer::dial(SandboxRef of, std::uint16_t port) {
  auto dialled = co_await within(
      std::chrono::steady_clock::now() + kDialPatience,
      fleet_->dial(std::move(of.tenant), std::move(of.sandbox), port == kE2bCodePort ? kE2bPort : port));
  if (dialled) co_return std::move(*dialled);
  co_return fail(Errc::cluster_unavailable, "the host of the sandboxes does not answer");
}

Task<Result<>> Authorizer::start(SandboxRef of) {
  log::info("waking", {{"sandbox", of.sandbox}, {"tenant", of.tenant}});
  co_return co_await fleet_->wake(std::move(of.tenant), std::move(of.sandbox));
}

}  // namespace skiff::container::serve
