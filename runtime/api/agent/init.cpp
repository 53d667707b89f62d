#include "runtime/api/agent/init.hpp"

#include "runtime/api/agent/init_request.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/commands/log_stream.hpp"
#include "runtime/api/commands/wait_answer.hpp"

namespace skiff::runtime::api {
namespace {

Error at(Error error, std::string_view list, std::size_t index) {
  error.code = Errc::invalid_field;
  error.field = std::string{list} + "/" + std::to_string(index);
  return error;
}

/// Credentials that were checked.
struct NewKeys {
  std::vector<TokenEntry> tokens;
  std::vector<PublicKey> keys;
};

Result<NewKeys> check_keys(const InitRequest& request) {
  NewKeys checked;
  for (std::size_t i = 0; i < request.token_sha256.size(); ++i) {
    auto digest = digest_from_hex(request.token_sha256[i]);
    if (!digest) return std::unexpected{at(std::move(digest.error()), "/token_sha256", i)};
    checked.tokens.push_back({.digest = *digest});
  }
  for (std::size_t i = 0; i < request.public_keys.size(); ++i) {
    auto keys = PublicKey::parse_pem(request.public_keys[i]);
    if (!keys) return std::unexpected{at(std::move(keys.error()), "/public_keys", i)};
    for (PublicKey& key : *keys) checked.keys.push_back(std::move(key));
  }
  return checked;
}

/// Refuses a credential for one session: these routes are about the whole sandbox.
Result<> for_the_whole_sandbox(const Call& call) {
  if (!call.identity.session) return {};
  return fail(Errc::insufficient_scope, "the credential is for one session, but this concerns the whole sandbox");
}

Result<> check_egress_token(const Agent& agent, std::string_view token) {
  constexpr std::string_view kField = "/egress_token";
  if (!agent.fence) {
    return fail(Errc::invalid_field, "this agent has no egress proxy that takes a token (--egress IP:PORT)",
                std::string{kField});
  }
  if (egress::Helper::is_token(token)) return {};
  return fail(Errc::invalid_field, "an egress token is printable ASCII without blanks", std::string{kField});
}

OrNull<std::uint64_t> or_null_ms(const std::optional<Milliseconds>& time) {
  return {time ? std::optional{static_cast<std::uint64_t>(time->count())} : std::nullopt};
}

}  // namespace

const Answer<Activity>& lease_answer() {
  static const Answer<Activity> answer{
      "Lease",
      {{"ttl_ms", [](const Activity& activity) { return or_null_ms(activity.lease_time()); }},
       {"expires_at", [](const Activity& activity) { return OrNull<WallTime>{activity.lease_ends()}; }},
       {"idle_ttl_ms", [](const Activity& activity) { return or_null_ms(activity.idle_limit()); }}}};
  return answer;
}

const Answer<Activity>& renewed_answer() {
  static const Answer<Activity> answer{
      "LeaseAnswer", {{"lease", [](const Activity& activity) { return Part<&lease_answer>{activity}; }}}};
  return answer;
}

const Answer<Initialised>& init_answer() {
  static const Answer<Initialised> answer{
      "InitAnswer",
      {{"setup",
        [](const Initialised& of) { return Written{of.setup}; },
        {},
        [] { return or_null(named("CommandResult", object(result_members()))); }},
       {"lease", [](const Initialised& of) { return Part<&lease_answer>{of.activity}; }}}};
  return answer;
}

Task<Result<std::shared_ptr<sessions::Command>>> start_setup(Call& call, SetupRequest setup) {
  SKIFF_CO_TRY(auto session, call.agent.registry.find(sessions::Registry::kDefault));
  CommandRequest command;
  command.command = std::move(setup.command);
  command.timeout = setup.timeout;
  auto started = co_await start(call, session, &command);
  if (!started) {
    if (started.error().field == "/command") started.error().field = "/setup/command";
    co_return std::unexpected{std::move(started.error())};
  }
  co_return started->command;
}

Task<Result<>> initialise(Call& call) {
  Agent& agent = call.agent;
  SKIFF_CO_TRY_VOID(for_the_whole_sandbox(call));
  SKIFF_CO_TRY(auto request, call.decode<InitRequest>());
  if (agent.initialised)
    co_return fail(Errc::already_initialised, "/v1/init can be called only once, and was called before");
  SKIFF_CO_TRY(auto keys, check_keys(request));
  if (request.egress_token) SKIFF_CO_TRY_VOID(check_egress_token(agent, *request.egress_token));

  // From here on another call is refused, also while the setup starts. The setup needs the environment. If it cannot be
  // started, nothing has changed.
  agent.initialised = true;
  agent.registry.set_environment(request.env, request.secret_env);
  if (request.egress_token) agent.egress->use_token(std::move(*request.egress_token));
  std::shared_ptr<sessions::Command> setup;
  if (request.setup) {
    auto started = co_await start_setup(call, std::move(*request.setup));
    if (!started) {
      agent.registry.set_environment({}, {});
      agent.initialised = false;
      co_return std::unexpected{std::move(started.error())};
    }
    setup = std::move(*started);
  }
  agent.labels = std::move(request.labels);
  for (TokenEntry& entry : keys.tokens) agent.access.authenticator.add(std::move(entry));
  agent.access.authenticator.add(std::move(keys.keys));
  if (request.ttl) agent.activity.lease(request.ttl);
  if (request.idle_ttl) agent.activity.idle_limit(request.idle_ttl);

  if (!setup) co_return co_await call.json(200, init_answer().text({"null", agent.activity}));
  SKIFF_CO_TRY(auto outcome, co_await wait_for_exit(call, setup, std::nullopt));
  const std::string result =
      co_await wait_result(&agent, "init", setup, static_cast<std::size_t>(agent.settings.max_output_bytes));
  co_return co_await answer_json(call, outcome.begun, 200, init_answer().text({result, agent.activity}));
}

Task<Result<>> renew_lease(Call& call) {
  Activity& activity = call.agent.activity;
  SKIFF_CO_TRY_VOID(for_the_whole_sandbox(call));
  SKIFF_CO_TRY(auto request, call.decode<LeaseRequest>());
  activity.lease(request.ttl.value_or(activity.lease_time()));
  if (request.idle_ttl) activity.idle_limit(*request.idle_ttl);
  co_return co_await call.json(200, renewed_answer().text(activity));
}

}  // namespace skiff::runtime::api
