#include "container/serve/api/routes.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes/sha.hpp"
#include "container/egress/rules/profiles.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/api/bodies.hpp"
#include "container/serve/api/document.hpp"
#include "container/serve/keys/account_cache.hpp"
#include "container/serve/query.hpp"
#include "container/serve/service.hpp"
#include "container/serve/traced_calls.hpp"

namespace skiff::container::serve::own {
namespace {

using protocol::HttpResponse;

constexpr std::size_t kMostItems = 500;

template <class T>
HttpResponse show_value(unsigned status, const T& value) {
  return json_answer(status, protocol::to_json(value));
}

/// Decodes the body of a request, which may be empty.
template <class T>
Result<T> body_of(const Call& call) {
  return protocol::decode<T>(call.body.empty() ? std::string_view{"{}"} : std::string_view{call.body});
}

HttpResponse made_answer(unsigned status, const Sandbox& sandbox) {
  auto answer = show_value(status, view_of(sandbox));
  if (status != 200) answer.headers.set("Location", "/v1/sandboxes/" + sandbox.name);
  return answer;
}

/// Drivers take a grace in seconds.
std::chrono::seconds whole_seconds(std::chrono::milliseconds time) {
  return std::chrono::ceil<std::chrono::seconds>(time);
}

/// The end of an object that a key creates: at the latest with the key. A service account continues with its next
/// token.
WallTime no_later_than_key(const ApiKey& key, std::chrono::milliseconds ttl) {
  const WallTime ends = wall_now() + ttl;
  if (!key.expires_ms || key.name.starts_with(kAccountPrefix)) return ends;
  return std::min(ends, WallTime{std::chrono::milliseconds{*key.expires_ms}});
}

Result<std::optional<SandboxState>> wanted_state(const protocol::Target& target) {
  const auto word = target.parameter("state");
  if (!word) return std::nullopt;
  for (const auto& [state, name] : protocol::EnumNames<SandboxState>::values) {
    if (name == *word) return state;
  }
  return fail(Errc::invalid_field, "expected creating, running, stopped, ended or failed", "state");
}

}  // namespace

SandboxView view_of(const Sandbox& sandbox) {
  return {.id = sandbox.name,
          .uid = sandbox.id,
          .template_name = own_label(sandbox, kTemplateLabel),
          .state = sandbox.state,
          .reason = sandbox.reason,
          .owner = own_label(sandbox, kOwnerLabel),
          .labels = client_labels(sandbox.labels),
          .created_at = sandbox.created_at,
          .expires_at = sandbox.expires_at,
          .on_end = on_end(sandbox),
          .was_broken = sandbox.was_broken};
}

Task<Result<HttpResponse>> health(Call*) {
  co_return json_answer(200, R"({"status":"ok"})");
}

Task<Result<HttpResponse>> ready(Call* call) {
  if (call->service.draining()) co_return fail(Errc::draining, "this server is about to stop");
  // Do not check the cluster: if all replicas became unready because of it, no client would be served, while replicas
  // with known keys can go on.
  if (!call->service.keys().has_read()) SKIFF_CO_TRY_VOID(co_await call->service.keys().current());
  co_return json_answer(200, R"({"status":"ok"})");
}

Task<Result<HttpResponse>> describe_api(Call*) {
  co_return json_answer(200, api_document());
}

Task<Result<HttpResponse>> show_metrics(Call* call) {
  co_return HttpResponse{.headers = {{"Content-Type", MetricsTable::kContentType}}, .body = call->service.metrics()};
}

Task<Result<HttpResponse>> show_key(Call* call) {
  const ApiKey& key = call->key;
  co_return show_value(200, KeyView{.name = key.name,
                                    .tenant = key.tenant,
                                    .scopes = key.scopes,
                                    .max_sandboxes = key.max_sandboxes,
                                    .creations_per_minute = key.creations_per_minute,
                                    .max_stopped = key.max_stopped});
}

Task<Result<HttpResponse>> create(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<CreateSandbox>(*call));
  SKIFF_CO_TRY(auto idempotency_key, idempotency_key_of(call->http.request().headers));
  if (body.get_or_create && body.name.empty())
    co_return fail(Errc::missing_field, "get_or_create needs a name", "name");
  CreateRequest request{.name = std::move(body.name),
                        .get_or_create = body.get_or_create,
                        .template_name = std::move(body.template_name),
                        .env = std::move(body.env),
                        .labels = std::move(body.labels),
                        .lease = {.ttl = body.ttl, .idle_ttl = body.idle_ttl},
                        .on_end = body.on_end,
                        .is_told_at_once = !body.wait,
                        .wakes = body.wakes,
                        .owner = std::move(body.owner),
                        .idempotency_key = std::move(idempotency_key),
                        .request = call->body};
  if (body.network) request.network = "deny";
  if (body.network && body.egress) {
    co_return fail(Errc::invalid_field, "network and egress: an empty egress denies the network, too", "egress");
  }
  if (body.egress) {
    SKIFF_CO_TRY(request.egress, egress::with_profiles(*body.egress));
  }
  BringUps::Repeat repeat{.wants_any = request.get_or_create};
  if (!request.idempotency_key.empty()) repeat.request = to_hex(Sha256::of(request.idempotency_key + ' ' + call->body));
  Fleet& fleet = call->service.fleet();
  SKIFF_CO_TRY(auto id, co_await fleet.id_for(call->key.tenant, request));
  request.id = id;
  call->sandbox = id;
  const BringUps::Which which{call->key.tenant, id};
  BringUps::Work work = [&fleet, key = call->key, request = std::move(request),
                         trace = call->trace](Progress progress) {
    return create_traced(&fleet, trace, key, request, std::move(progress));
  };
  BringUps& bring_ups = call->service.bring_ups();
  if (body.wait) {
    SKIFF_CO_TRY(auto made, co_await bring_ups.run(which, std::move(work), std::move(repeat)));
    co_return made_answer(made.is_new ? 201 : 200, made.sandbox);
  }
  SKIFF_CO_TRY(auto made, co_await bring_ups.begin(which, std::move(work), std::move(repeat)));
  if (made) co_return made_answer(made->is_new ? 201 : 200, made->sandbox);
  auto now = co_await fleet.get(call->key.tenant, id);
  // The sandbox was visible only for a moment.
  if (!now) co_return std::unexpected{bring_ups.failure(which).value_or(std::move(now.error()))};
  co_return made_answer(202, *now);
}

Task<Result<HttpResponse>> list(Call* call) {
  const protocol::Target& target = call->http.request().target;
  SandboxFilter filter;
  SKIFF_CO_TRY(auto state, wanted_state(target));
  SKIFF_CO_TRY(auto limit, limit_of(target, kMostItems));
  filter.state = state;
  filter.limit = limit;
  filter.cursor = target.parameter("cursor").value_or("");
  for (const auto& parameter : target.query) {
    if (parameter.name != "label") continue;
    const std::size_t equals = parameter.value.find('=');
    if (equals == std::string::npos) co_return fail(Errc::invalid_field, "expected NAME=VALUE", "label");
    filter.labels[parameter.value.substr(0, equals)] = parameter.value.substr(equals + 1);
  }
  if (const auto owner = target.parameter("owner")) filter.owner = *owner;
  SKIFF_CO_TRY(auto page, co_await call->service.fleet().list(call->key.tenant, std::move(filter)));
  SandboxList all{.next = std::move(page.next)};
  for (const Sandbox& one : page.items) all.items.push_back(view_of(one));
  co_return show_value(200, all);
}

Task<Result<HttpResponse>> remove(Call* call) {
  const protocol::Target& target = call->http.request().target;
  Removal how;
  SKIFF_CO_TRY(auto grace, number_of(target, "grace_ms", 0, kLongestGraceMs));
  if (grace) how.grace = whole_seconds(std::chrono::milliseconds{*grace});
  RemovalPrecondition precondition{.uid = std::string{target.parameter("uid").value_or("")}};
  SKIFF_CO_TRY(auto state, wanted_state(target));
  precondition.state = state;
  SKIFF_CO_TRY(auto idempotency_key, idempotency_key_of(call->http.request().headers));
  precondition.idempotency_key = std::move(idempotency_key);
  SKIFF_CO_TRY_VOID(
      co_await call->service.fleet().remove(call->key.tenant, call->id(), std::move(how), std::move(precondition)));
  co_return empty_answer();
}

Task<Result<HttpResponse>> stop(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<StopSandbox>(*call));
  Removal how;
  if (body.grace) how.grace = whole_seconds(*body.grace);
  SKIFF_CO_TRY_VOID(co_await call->service.fleet().stop(call->key.tenant, call->id(), std::move(how)));
  SKIFF_CO_TRY(auto sandbox, co_await call->service.fleet().get(call->key.tenant, call->id()));
  co_return show_value(200, view_of(sandbox));
}

Task<Result<HttpResponse>> start(Call* call) {
  SKIFF_CO_TRY(auto sandbox,
               co_await start_traced(&call->service.fleet(), call->trace, call->key, call->id(), std::nullopt));
  co_return show_value(200, view_of(sandbox));
}

Task<Result<HttpResponse>> extend(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<ExtendSandbox>(*call));
  const Lease lease{.ttl = body.ttl, .idle_ttl = body.idle_ttl};
  SKIFF_CO_TRY(auto sandbox, co_await call->service.fleet().extend(call->key.tenant, call->id(), lease));
  co_return show_value(200, view_of(sandbox));
}

Task<Result<HttpResponse>> show_network(Call* call) {
  SKIFF_CO_TRY(auto state, co_await call->service.fleet().set_egress(call->key.tenant, call->id(), {}));
  co_return show_value(200, NetworkView{.egress = std::move(state.rules)});
}

Task<Result<HttpResponse>> set_network(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<NetworkView>(*call));
  SKIFF_CO_TRY(auto rules, egress::with_profiles(body.egress));
  SKIFF_CO_TRY(auto state,
               co_await call->service.fleet().set_egress(call->key.tenant, call->id(), {.rules = std::move(rules)}));
  co_return show_value(200, NetworkView{.egress = std::move(state.rules)});
}

Task<Result<HttpResponse>> change_network(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<NetworkChange>(*call));
  SKIFF_CO_TRY(auto added, egress::with_profiles(body.add));
  SKIFF_CO_TRY(auto removed, egress::with_profiles(body.remove));
  SKIFF_CO_TRY(auto state,
               co_await call->service.fleet().set_egress(call->key.tenant, call->id(),
                                                         {.added = std::move(added), .removed = std::move(removed)}));
  co_return show_value(200, NetworkView{.egress = std::move(state.rules)});
}

Task<Result<HttpResponse>> create_token(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<MakeToken>(*call));
  const auto left = std::chrono::ceil<std::chrono::seconds>(no_later_than_key(call->key, body.ttl) - wall_now());
  TokenGrant grant{.scope = "", .lifetime = std::max(left, std::chrono::seconds{1})};
  for (const std::string& scope : body.scopes) {
    // In a token, scopes are separated by blanks.
    if (scope.contains(' ')) co_return fail(Errc::invalid_field, "a scope is one word", "scopes");
    if (scope == "admin" && !call->key.allows(KeyScope::admin)) {
      co_return fail(Errc::insufficient_scope, "a token with the scope admin needs a key with the scope admin");
    }
    grant.scope += (grant.scope.empty() ? "" : " ") + scope;
  }
  SKIFF_CO_TRY_VOID(check_grant(grant));
  SKIFF_CO_TRY(auto endpoint, co_await call->service.fleet().endpoint(call->key.tenant, call->id(), std::move(grant)));
  SKIFF_CO_TRY(auto token, endpoint.token());
  co_return show_value(201, TokenView{.token = std::move(token)});
}

Task<Result<HttpResponse>> create_preview(Call* call) {
  SKIFF_CO_TRY(auto body, body_of<MakePreview>(*call));
  const ServiceOptions& options = call->service.options();
  if (options.domain.empty()) {
    co_return fail(Errc::not_supported, "previews need a host name for each port: start this server with --domain");
  }
  SKIFF_CO_TRY(auto sandbox, co_await call->service.fleet().get(call->key.tenant, call->id()));
  // A server for its own pages has one tenant.
  if (!options.for_own_pages && !is_made_id(sandbox.name)) {
    co_return fail(Errc::not_supported,
                   "previews need an id that the server has chosen: another tenant may use the same name");
  }
  SKIFF_CO_TRY(auto previews, co_await call->service.authorizer().previews(call->key.tenant));
  const WallTime ends = no_later_than_key(call->key, body.ttl);
  std::string url = (options.behind_proxy ? "https://" : "http://") + host_of(sandbox.name, body.port, options.domain);
  if (!options.behind_proxy) url += ":" + std::to_string(call->http.local_address().port());
  url += "/?" + previews.parameter(sandbox.name, body.port, ends,
                                   {.record = nonce_of(sandbox), .by = preview_giver(call->key)});
  co_return show_value(201, PreviewView{.url = std::move(url), .expires_at = rfc3339(ends)});
}

Task<Result<HttpResponse>> list_pools(Call* call) {
  SKIFF_CO_TRY(auto pools, co_await call->service.fleet().pools(call->key.tenant));
  co_return show_value(200, PoolList{.items = std::move(pools)});
}

Task<Result<HttpResponse>> show_pool(Call* call) {
  SKIFF_CO_TRY(auto pool, co_await call->service.fleet().pool(call->key.tenant, call->id()));
  co_return show_value(200, pool);
}

}  // namespace skiff::container::serve::own
