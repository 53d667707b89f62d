#include "container/serve/e2b/routes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/async/with_timeout.hpp"
#include "container/agent/client.hpp"
#include "container/net/time.hpp"
#include "container/sandbox/dialects.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/e2b/bodies.hpp"
#include "container/serve/e2b/network.hpp"
#include "container/serve/fleet/sandbox_log.hpp"
#include "container/serve/query.hpp"
#include "container/serve/service.hpp"
#include "container/serve/traced_calls.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container::serve::e2b {
namespace {

using protocol::HttpResponse;
using std::chrono::milliseconds;

constexpr std::size_t kMostListed = 100;
constexpr std::size_t kLongestPage = std::size_t{1} << 20U;
constexpr milliseconds kMetricsPatience{10'000};
constexpr milliseconds kLogPatience{30'000};
/// Time for one agent: an agent that does not answer must not use up its tenant's turn.
constexpr milliseconds kLogReading{5'000};
constexpr std::size_t kLatestTime = 253'402'300'799'999;  // the end of the year 9999
constexpr std::array kLogLevels{LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error};
constexpr std::size_t kLongestMetrics = std::size_t{64} << 10U;

template <class T>
Result<T> lenient_body(const Call& call) {
  std::vector<std::string> of_later_versions;
  return protocol::decode<T>(call.body.empty() ? std::string_view{"{}"} : std::string_view{call.body}, {},
                             &of_later_versions);
}

/// A lease of 0 s becomes 1 s, because the agent must answer first.
milliseconds lease_of(std::int64_t seconds) {
  return std::chrono::seconds{std::max<std::int64_t>(seconds, 1)};
}

Result<> refuse_what_is_not_offered(const NewSandbox& wanted) {
  if (asks(wanted.mcp))
    return fail(Errc::not_supported, "MCP gateways are not supported: the agent serves /mcp", "mcp");
  if (asks(wanted.iam)) return fail(Errc::not_supported, "workload identities are not supported", "iam");
  if (asks(wanted.volume_mounts)) {
    return fail(Errc::not_supported, "E2B's volumes are not supported: a template may have volumes", "volumeMounts");
  }
  return {};
}

Size size_of_sandbox(Call* call, const Sandbox& sandbox) {
  const SandboxSpec* made_from = call->service.fleet().templates().find(own_label(sandbox, kTemplateLabel));
  const bool is_local = call->service.options().is_local;
  return made_from == nullptr && !is_local ? Size{}
                                           : size_of(made_from == nullptr ? SandboxSpec{} : *made_from, is_local);
}

/// The domain that the SDKs put behind "PORT-ID.". Without one they would use E2B's own.
std::string domain_of(const Call& call) {
  const ServiceOptions& options = call.service.options();
  if (options.domain.empty()) return "no-domain.invalid";
  if (options.behind_proxy) return options.domain;
  return options.domain + ":" + std::to_string(call.http.local_address().port());
}

/// The fields for reaching the sandbox; only keys with the scope `use` get the access token.
Task<Result<Reached>> how_reached(Call* call, const Sandbox* sandbox) {
  Reached how{.domain = domain_of(*call)};
  if (!call->key.allows(KeyScope::use)) co_return how;
  Fleet& fleet = call->service.fleet();
  SKIFF_CO_TRY(how.access_token, co_await fleet.access_token_of(call->key.tenant, sandbox->name, nonce_of(*sandbox)));
  SKIFF_CO_TRY(how.traffic_token, co_await fleet.traffic_token_of(call->key.tenant, sandbox->name, nonce_of(*sandbox)));
  co_return how;
}

/// The answer with a sandbox. The key is checked again, because it may have ended during a wait.
Task<Result<HttpResponse>> reached(Call* call, unsigned status, const Sandbox* sandbox) {
  if (!co_await call->service.keys().holds(call->key)) {
    co_return fail(Errc::unauthenticated, "the API key is not valid any more");
  }
  SKIFF_CO_TRY(auto how, co_await how_reached(call, sandbox));
  co_return json_answer(status, reached_json(*sandbox, how));
}

/// Extends the lease, if necessary, so that it lasts at least that long.
Task<Result<Sandbox>> last_at_least(Call* call, Sandbox sandbox, milliseconds ttl) {
  const auto wanted_end = std::chrono::floor<milliseconds>(wall_now() + ttl);
  const auto end = sandbox.expires_at ? net::parse_time(*sandbox.expires_at) : std::nullopt;
  if (!sandbox.expires_at || (end && *end >= wanted_end)) co_return sandbox;
  if (!call->key.allows(KeyScope::create)) {
    co_return fail(Errc::insufficient_scope,
                   "this API key cannot extend the sandbox's lease, which ends at " + *sandbox.expires_at +
                       ": use a shorter timeout, or a key with the scope create",
                   "timeout");
  }
  co_return co_await call->service.fleet().extend(call->key.tenant, sandbox.name, {.ttl = ttl});
}

Task<Result<Sandbox>> find(Call* call) {
  co_return co_await call->service.fleet().get(call->key.tenant, call->id());
}

struct WantedStates {
  bool running = false;
  bool paused = false;
};

/// Reads all parameters `state`, each a list of words separated by commas. Without one, all states are wanted.
Result<WantedStates> wanted_states(const protocol::Target& target) {
  WantedStates wanted;
  for (const auto& parameter : target.query) {
    if (parameter.name != "state") continue;
    for (const auto& part : std::views::split(parameter.value, ',')) {
      const std::string_view word{part.begin(), part.end()};
      if (word != "running" && word != "paused") {
        return fail(Errc::invalid_field, "a state is running or paused", parameter.name);
      }
      (word == "running" ? wanted.running : wanted.paused) = true;
    }
    // An empty value has no parts.
    if (parameter.value.empty()) return fail(Errc::invalid_field, "a state is running or paused", parameter.name);
  }
  if (!wanted.running && !wanted.paused) return WantedStates{.running = true, .paused = true};
  return wanted;
}

/// The SDKs encode each name and value once more before they join the pairs.
Result<Labels> wanted_metadata(std::string_view text) {
  SKIFF_TRY(auto pairs, parse_pairs_of(text));
  Labels labels;
  for (const auto& [name, value] : pairs) {
    SKIFF_TRY(auto plain_name, protocol::percent_decode(name));
    SKIFF_TRY(auto plain_value, protocol::percent_decode(value));
    labels[std::move(plain_name)] = std::move(plain_value);
  }
  return labels;
}

/// Refuses parameters that are not supported, so that a list never contains more or less than was asked for.
Result<> check_list(const protocol::Target& target) {
  for (const auto& parameter : target.query) {
    if (parameter.name == "startedAfter") {
      return fail(Errc::not_supported, "lists by start time are not supported", parameter.name);
    }
    if (parameter.name == "order" && parameter.value != "asc") {
      return fail(Errc::not_supported, "lists are sorted by id only", parameter.name);
    }
  }
  return {};
}

/// Lists sandboxes in the order of their ids, which is the order of their creation if the server has chosen the ids.
Task<Result<HttpResponse>> list_those(Call* call, WantedStates states) {
  const protocol::Target& target = call->http.request().target;
  SKIFF_CO_TRY_VOID(check_list(target));
  SKIFF_CO_TRY(auto limit, limit_of(target, kMostListed));
  const auto made_from = target.parameter("template");
  SandboxFilter filter;
  filter.cursor = target.parameter("nextToken").value_or("");
  if (const auto metadata = target.parameter("metadata")) {
    SKIFF_CO_TRY(auto labels, wanted_metadata(*metadata));
    filter.labels = std::move(labels);
  }
  std::string text{'['};
  std::size_t found = 0;
  do {
    // Do not ask for more than is wanted, so that the driver's page ends where the client's does.
    filter.limit = limit - found;
    SKIFF_CO_TRY(auto page, co_await call->service.fleet().list(call->key.tenant, filter));
    for (const Sandbox& one : page.items) {
      const bool sleeps = is_asleep(one);
      if (one.state == SandboxState::failed || !(sleeps ? states.paused : states.running)) continue;
      if (made_from && own_label(one, kTemplateLabel) != *made_from) continue;
      text += (found++ == 0 ? "" : ",") + sandbox_json(one, size_of_sandbox(call, one));
    }
    filter.cursor = std::move(page.next);
  } while (!filter.cursor.empty() && found < limit && text.size() < kLongestPage);
  auto answer = json_answer(200, text + "]");
  if (!filter.cursor.empty()) answer.headers.set("X-Next-Token", filter.cursor);
  co_return answer;
}

Result<LogQuery> log_query_of(const protocol::Target& target, std::string_view since) {
  LogQuery query;
  SKIFF_TRY(auto limit, number_of(target, "limit", 0, query.limit));
  SKIFF_TRY(auto from, number_of(target, since, 0, kLatestTime));
  query.limit = limit.value_or(query.limit);
  if (from) query.from = static_cast<std::int64_t>(*from);
  return query;
}

Task<Result<std::vector<LogEntry>>> read_in_turn(Call* call, AgentClient* agent, LogQuery query) {
  const auto turn = co_await call->service.log_turns().acquire(call->key.tenant);
  auto read =
      co_await within(std::chrono::steady_clock::now() + kLogReading, read_sandbox_log(agent, std::move(query)));
  if (!read) co_return fail(Errc::timeout, "the sandbox's agent did not give its log in time");
  co_return std::move(*read);
}

/// A sleeping sandbox has an empty log, because its commands are gone with its agent.
Task<Result<HttpResponse>> logs_of(Call* call, LogQuery query, bool lines) {
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  if (is_asleep(sandbox)) co_return json_answer(200, logs_json({}, lines));
  SKIFF_CO_TRY(auto endpoint,
               co_await call->service.fleet().endpoint(call->key.tenant, sandbox.name, {.scope = "read"}));
  AgentClient agent{call->service.executor(), std::move(endpoint)};
  auto read =
      co_await within(std::chrono::steady_clock::now() + kLogPatience, read_in_turn(call, &agent, std::move(query)));
  if (!read) co_return fail(Errc::timeout, "the log was not read in time: ask again");
  if (!*read) co_return std::unexpected{std::move(read->error())};
  co_return json_answer(200, logs_json(**read, lines));
}

}  // namespace

Task<Result<HttpResponse>> create(Call* call) {
  SKIFF_CO_TRY(auto body, lenient_body<NewSandbox>(*call));
  SKIFF_CO_TRY_VOID(refuse_what_is_not_offered(body));
  SKIFF_CO_TRY(auto network, wanted_network(body.network, body.allow_internet_access.value_or(true)));
  SKIFF_CO_TRY(auto idempotency_key, idempotency_key_of(call->http.request().headers));
  CreateRequest request{.template_name = std::move(body.template_id),
                        .env = std::move(body.env),
                        .labels = std::move(body.metadata),
                        .lease = {.ttl = lease_of(body.timeout)},
                        .on_end = body.auto_pause ? OnEnd::stop : OnEnd::remove,
                        .wakes = body.auto_resume.enabled,
                        .idempotency_key = std::move(idempotency_key),
                        .request = call->body};
  if (network.kind != WantedNetwork::Kind::whole) {
    // Without egress by name a sandbox may still have no network at all.
    const bool names_hosts = network.kind == WantedNetwork::Kind::names;
    if (names_hosts || co_await call->service.fleet().closes_by_name(call->key.tenant, request.template_name)) {
      request.egress = std::move(network.rules);
    } else {
      request.network = "deny";
    }
  }
  SKIFF_CO_TRY(request.id, co_await call->service.fleet().id_for(call->key.tenant, request));
  call->sandbox = request.id;
  SKIFF_CO_TRY(auto made,
               co_await create_traced(&call->service.fleet(), call->trace, call->key, std::move(request), unwatched));
  co_return co_await reached(call, 201, &made.sandbox);
}

Task<Result<HttpResponse>> list(Call* call) {
  SKIFF_CO_TRY(auto states, wanted_states(call->http.request().target));
  co_return co_await list_those(call, states);
}

Task<Result<HttpResponse>> list_running(Call* call) {
  co_return co_await list_those(call, {.running = true});
}

Task<Result<HttpResponse>> show(Call* call) {
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  SKIFF_CO_TRY(auto how, co_await how_reached(call, &sandbox));
  co_return json_answer(200, sandbox_json(sandbox, size_of_sandbox(call, sandbox), &how));
}

Task<Result<HttpResponse>> kill(Call* call) {
  SKIFF_CO_TRY_VOID(co_await call->service.fleet().remove(call->key.tenant, call->id()));
  co_return empty_answer();
}

Task<Result<HttpResponse>> set_timeout(Call* call) {
  SKIFF_CO_TRY(auto body, lenient_body<Timeout>(*call));
  if (!body.timeout) co_return fail(Errc::missing_field, "give a timeout in seconds", "timeout");
  const Lease lease{.ttl = lease_of(*body.timeout)};
  SKIFF_CO_TRY_VOID(co_await call->service.fleet().extend(call->key.tenant, call->id(), lease));
  co_return empty_answer();
}

Task<Result<HttpResponse>> refresh(Call* call) {
  SKIFF_CO_TRY(auto body, lenient_body<Refresh>(*call));
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  SKIFF_CO_TRY_VOID(co_await last_at_least(call, std::move(sandbox), lease_of(body.duration)));
  co_return empty_answer();
}

Task<Result<HttpResponse>> connect(Call* call) {
  SKIFF_CO_TRY(auto body, lenient_body<Timeout>(*call));
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  const auto ttl = body.timeout ? std::optional{lease_of(*body.timeout)} : std::nullopt;
  // A key without `create` may only do what a request to the sandbox does: wake it, with its own lease, if it wakes at
  // all.
  if (is_asleep(sandbox) && !call->key.allows(KeyScope::create)) {
    if (own_label(sandbox, kWakeLabel) == "no") {
      co_return fail(Errc::insufficient_scope,
                     "this API key cannot start a sandbox that does not wake: use a key with the scope create");
    }
    SKIFF_CO_TRY_VOID(co_await call->service.fleet().wake(call->key.tenant, call->id()));
    SKIFF_CO_TRY(auto woken, co_await find(call));
    co_return co_await reached(call, 201, &woken);
  }
  if (is_asleep(sandbox)) {
    SKIFF_CO_TRY(auto started, co_await start_traced(&call->service.fleet(), call->trace, call->key, call->id(), ttl));
    co_return co_await reached(call, 201, &started);
  }
  if (ttl) {
    SKIFF_CO_TRY(auto extended, co_await last_at_least(call, std::move(sandbox), *ttl));
    sandbox = std::move(extended);
  }
  co_return co_await reached(call, 200, &sandbox);
}

Task<Result<HttpResponse>> pause(Call* call) {
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  if (is_asleep(sandbox)) co_return fail(Errc::sandbox_conflict, "the sandbox is paused already");
  SKIFF_CO_TRY_VOID(co_await call->service.fleet().stop(call->key.tenant, call->id()));
  co_return empty_answer();
}

Task<Result<HttpResponse>> resume(Call* call) {
  SKIFF_CO_TRY(auto body, lenient_body<Timeout>(*call));
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  if (!is_asleep(sandbox)) co_return fail(Errc::sandbox_conflict, "the sandbox is running already");
  const auto ttl = body.timeout ? std::optional{lease_of(*body.timeout)} : std::nullopt;
  SKIFF_CO_TRY(auto started, co_await start_traced(&call->service.fleet(), call->trace, call->key, call->id(), ttl));
  co_return co_await reached(call, 201, &started);
}

Task<Result<HttpResponse>> metrics(Call* call) {
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  SKIFF_CO_TRY(auto token,
               co_await call->service.fleet().access_token_of(call->key.tenant, sandbox.name, nonce_of(sandbox)));
  protocol::HttpClientOptions options{.host = "localhost", .idle_time = kMetricsPatience};
  options.dial = [call, id = sandbox.name](milliseconds) {
    return call->service.fleet().dial(call->key.tenant, id, kE2bPort);
  };
  protocol::HttpClient agent{call->service.executor(), std::move(options)};
  protocol::HttpClient::Request request{.target = "/metrics", .headers = {{"X-Access-Token", token}}};
  SKIFF_CO_TRY(auto reply, co_await agent.request(std::move(request), kLongestMetrics));
  if (reply.head.status != 200) co_return fail(Errc::bad_gateway, "the agent does not report its usage");
  SKIFF_CO_TRY(auto entry, metric_json(reply.body));
  co_return json_answer(200, "[" + entry + "]");
}

Task<Result<HttpResponse>> log_lines(Call* call) {
  SKIFF_CO_TRY(auto query, log_query_of(call->http.request().target, "start"));
  co_return co_await logs_of(call, std::move(query), true);
}

Task<Result<HttpResponse>> logs(Call* call) {
  const protocol::Target& target = call->http.request().target;
  SKIFF_CO_TRY(auto query, log_query_of(target, "cursor"));
  const auto direction = target.parameter("direction").value_or("forward");
  if (direction != "forward" && direction != "backward") {
    co_return fail(Errc::invalid_field, "expected forward or backward", "direction");
  }
  query.backward = direction == "backward";
  query.search = target.parameter("search").value_or("");
  if (const auto level = target.parameter("level")) {
    const auto found = std::ranges::find(kLogLevels, *level, log_level_word);
    if (found == kLogLevels.end()) co_return fail(Errc::invalid_field, "expected debug, info, warn or error", "level");
    query.least = *found;
  }
  co_return co_await logs_of(call, std::move(query), false);
}

Task<Result<HttpResponse>> set_network(Call* call) {
  SKIFF_CO_TRY(const auto body, protocol::parse_json(call->body));
  if (!body.is_object()) co_return fail(Errc::invalid_field, "expected an object", "network");
  SKIFF_CO_TRY(auto sandbox, co_await find(call));
  SKIFF_CO_TRY(const auto wanted, wanted_network(body));
  Fleet& fleet = call->service.fleet();
  SKIFF_CO_TRY(const bool is_open, co_await fleet.is_open(call->key.tenant, std::move(sandbox)));
  EgressChange change{.rules = rules_for(wanted, is_open)};
  SKIFF_CO_TRY_VOID(co_await fleet.set_egress(call->key.tenant, call->id(), std::move(change)));
  co_return empty_answer();
}

Task<Result<HttpResponse>> refuse_memory(Call*) {
  co_return fail(Errc::not_supported, "snapshots and forks are not supported: pause keeps files, not memory");
}

Task<Result<HttpResponse>> refuse_builds(Call*) {
  co_return fail(Errc::not_supported, "templates cannot be built here: the server's operator names images");
}

Task<Result<HttpResponse>> refuse_volumes(Call*) {
  co_return fail(Errc::not_supported, "E2B's volumes are not supported: a template may have volumes");
}

Task<Result<HttpResponse>> refuse_secrets(Call*) {
  co_return fail(Errc::not_supported, "secrets are not stored here: send variables with the sandbox");
}

}  // namespace skiff::container::serve::e2b
