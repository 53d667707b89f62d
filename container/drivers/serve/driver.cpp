#include "container/drivers/serve/driver.hpp"

#include <algorithm>
#include <utility>

#include "base/id.hpp"
#include "container/sandbox/undo_unless.hpp"
#include "container/serve/api/bodies.hpp"
#include "container/serve/fleet/record_labels.hpp"

namespace skiff::container {
namespace {

using serve::OnEnd;
using std::chrono::milliseconds;

constexpr std::string_view kSandboxes = "/v1/sandboxes";
/// Most sandboxes that the server puts on a page.
constexpr std::size_t kServedPage = 500;
/// Larger than any honest list: a server whose list never ends must not fill our memory.
constexpr std::size_t kMostSandboxes = 1'000'000;
constexpr int kMostServedPages = 10'000;
/// Patience with requests for which the server only reads its records.
constexpr milliseconds kLookTime{30'000};
/// A request whose connection broke may still arrive after so long.
constexpr milliseconds kLateCreation{500};
/// Patience with a removal that has to wait for the creation to end.
constexpr milliseconds kTakeBackTime{60'000};
/// Time in addition to the server's own limit, so that the server's error comes first.
constexpr milliseconds kSlack{5'000};

std::string path_of(std::string_view name, std::string_view verb = {}) {
  std::string path = std::string{kSandboxes} + "/" + std::string{name};
  if (!verb.empty()) path.append("/").append(verb);
  return path;
}

/// The gateway's path for a port of a sandbox.
std::string gateway_path(std::string_view name, std::uint16_t port) {
  return "/s/" + std::string{name} + "/" + std::to_string(port);
}

std::unexpected<Error> is_the_servers(std::string_view what, std::string_view instead) {
  return fail(Errc::invalid_field,
              std::string{what} + " is decided by the server of --driver serve: " + std::string{instead},
              std::string{what});
}

/// Refuses options that a template decides: the holder of a key has no more rights than the template gives.
Result<> check_supported(PodOptions pod) {
  pod.template_name.clear();
  if (pod.network == "deny") pod.network = PodOptions{}.network;
  return check_each_pod_option([&](const auto& option) -> Result<> {
    if (option.is_for_all || option.is_default(pod)) return {};
    return is_the_servers(option.flag_text(), "omit it, or choose one of its templates with --template");
  });
}

Result<serve::own::CreateSandbox> request_of(const SandboxSpec& spec) {
  if (!spec.image.empty()) {
    return is_the_servers("--image", "omit \"" + spec.image + "\", or choose one of its templates with --template");
  }
  SKIFF_TRY_VOID(check_supported(spec.pod));
  serve::own::CreateSandbox body{.name = spec.name,
                                 .env = spec.env,
                                 .labels = spec.labels,
                                 .ttl = spec.lease.ttl,
                                 .idle_ttl = spec.lease.idle_ttl,
                                 // Nobody needs the remains of `skiff run`; other sandboxes can be started again.
                                 .on_end = spec.is_one_shot ? OnEnd::remove : OnEnd::stop,
                                 .owner = spec.owner,
                                 // As with every driver, requests do not wake a stopped sandbox.
                                 .wakes = false};
  if (!spec.pod.template_name.empty()) body.template_name = spec.pod.template_name;
  if (spec.pod.network == "deny") body.network = serve::own::Network::deny;
  return body;
}

/// The server always waits until the sandbox is removed, and its clients do not deal with nodes.
Result<> check_removal(const Removal& how) {
  if (how.force) return is_the_servers("--force", "--grace-period 0s kills its processes immediately");
  if (!how.wait) return is_the_servers("--wait=false", "it answers when nothing is left");
  return {};
}

std::optional<milliseconds> asked_grace(const Removal& how) {
  if (!how.grace) return std::nullopt;
  return *how.grace;
}

Task<Result<protocol::Headers>> credentials_of(const ServerClient* server) {
  co_return server->credentials();
}

/// True if the server refused the request because it does not support this field.
bool is_refused_for(const Error& refusal, std::string_view field) {
  return refusal.code == Errc::not_supported && refusal.field == field;
}

bool is_absent(const Error& error) {
  return error.code == Errc::sandbox_not_found;
}

}  // namespace

ServedDriver::ServedDriver(Executor executor, std::unique_ptr<ServerClient> server)
    : server_{std::move(server)}, ports_{executor} {}

Result<std::unique_ptr<ServedDriver>> ServedDriver::open(Executor executor, ServedOptions options) {
  SKIFF_TRY(auto server, ServerClient::open(executor, std::move(options)));
  return std::unique_ptr<ServedDriver>{new ServedDriver{executor, std::move(server)}};
}

std::string_view ServedDriver::notice() const noexcept {
  return server_->is_in_clear() ? "the API key crosses the network in clear text: give an https:// address by --url"
                                : std::string_view{};
}

Result<Sandbox> ServedDriver::sandbox_of(serve::own::SandboxView view, std::string_view name) const {
  // Check the name: it is printed, completed in shells and put into paths.
  if (!check_name(view.id)) return std::unexpected{server_->foreign("the name of a sandbox is not one")};
  if (!name.empty() && view.id != name) return std::unexpected{server_->foreign("it describes another sandbox")};
  const bool runs = view.state == SandboxState::running;
  return Sandbox{.name = view.id,
                 .id = view.uid.empty() ? view.id : std::move(view.uid),
                 .driver = "serve",
                 .state = view.state,
                 .reason = std::move(view.reason),
                 .owner = std::move(view.owner),
                 .image = {},
                 .labels = std::move(view.labels),
                 .created_at = std::move(view.created_at),
                 .expires_at = std::move(view.expires_at),
                 .address = runs ? server_->url() + gateway_path(view.id, kAgentPort) : std::string{},
                 .details = {{"template", std::move(view.template_name)},
                             {"on_end", std::string{serve::on_end_word(view.on_end)}}},
                 .was_broken = view.was_broken};
}

Result<Sandbox> ServedDriver::read_sandbox(const ServerAnswer& answer, std::string_view name) const {
  SKIFF_TRY(auto view, server_->read<serve::own::SandboxView>(answer));
  return sandbox_of(std::move(view), name);
}

Task<Result<bool>> ServedDriver::take_back(std::string name, std::string creation) {
  if (!server_->was_reached()) co_return true;
  ServerRequest request{.method = "DELETE",
                        .path = path_of(name),
                        .query = {{"grace_ms", "0"}},
                        .idempotency_key = std::move(creation),
                        .patience = kTakeBackTime};
  auto removed = co_await server_->ask(request);
  if (!removed && removed.error().code == Errc::not_supported) {
    // The server's host does not support a grace period: repeat without one.
    request.query.clear();
    removed = co_await server_->ask(std::move(request));
  }
  if (!removed && !is_absent(removed.error())) co_return std::unexpected{std::move(removed.error())};
  co_return true;
}

Task<Result<Sandbox>> ServedDriver::create(SandboxSpec spec, Progress progress) {
  SKIFF_CO_TRY_VOID(check_name(spec.name));
  SKIFF_CO_TRY(auto body, request_of(spec));
  progress(Phase::starting, "at " + server_->url());
  const std::string name = spec.name;
  const std::string creation = new_id("skiff-");
  const auto ask = [&] {
    ServerRequest request{.method = "POST",
                          .path = std::string{kSandboxes},
                          .body = protocol::to_json(body),
                          .idempotency_key = creation,
                          .patience = spec.wait + kSlack};
    // A refused request created nothing; only after a lost answer the sandbox may exist.
    return undo_unless<ServerAnswer>(
        server_->send(std::move(request)), [&](milliseconds) { return take_back(name, creation); }, kLateCreation);
  };
  SKIFF_CO_TRY(auto answer, co_await ask());
  // The server cannot keep files without a Pod, so remove the sandbox at its end.
  if (body.on_end == OnEnd::stop && is_refused_for(server_->refusal(answer), "on_end")) {
    body.on_end = OnEnd::remove;
    SKIFF_CO_TRY(answer, co_await ask());
  }
  if (answer.head.status != 200 && answer.head.status != 201) co_return std::unexpected{server_->refusal(answer)};
  auto made = read_sandbox(answer, name);
  if (made) progress(Phase::ready, "");
  co_return made;
}

Task<Result<Sandbox>> ServedDriver::get(std::string name) {
  SKIFF_CO_TRY_VOID(check_name(name));
  SKIFF_CO_TRY(auto answer, co_await server_->ask({.path = path_of(name), .patience = kLookTime}));
  co_return read_sandbox(answer, name);
}

Task<Result<SandboxPage>> ServedDriver::list(SandboxFilter filter) {
  SandboxPage page;
  page.next = filter.cursor;
  for (int pages = 0;; ++pages) {
    ServerRequest request{.path = std::string{kSandboxes}, .patience = kLookTime};
    const std::size_t wanted = std::min(filter.limit - page.items.size(), kServedPage);
    request.query.emplace_back("limit", std::to_string(wanted));
    if (!page.next.empty()) request.query.emplace_back("cursor", page.next);
    if (filter.owner) request.query.emplace_back("owner", *filter.owner);
    if (filter.state) request.query.emplace_back("state", std::string{state_word(*filter.state)});
    for (const auto& [label, value] : filter.labels) {
      request.query.emplace_back("label", std::string{label}.append("=").append(value));
    }
    SKIFF_CO_TRY(auto answer, co_await server_->ask(std::move(request)));
    SKIFF_CO_TRY(auto listed, server_->read<serve::own::SandboxList>(answer));
    if (listed.items.size() > wanted) co_return std::unexpected{server_->foreign("its page has more than it may")};
    for (auto& view : listed.items) {
      SKIFF_CO_TRY(auto sandbox, sandbox_of(std::move(view), {}));
      page.items.push_back(std::move(sandbox));
    }
    const std::string before = std::exchange(page.next, std::move(listed.next));
    if (page.next.empty() || page.items.size() >= filter.limit) co_return page;
    if (page.next == before || pages >= kMostServedPages || page.items.size() > kMostSandboxes) {
      co_return std::unexpected{server_->foreign("its list has no end")};
    }
  }
}

Task<Result<>> ServedDriver::stop(std::string name, Removal how) {
  SKIFF_CO_TRY_VOID(check_name(name));
  SKIFF_CO_TRY_VOID(check_removal(how));
  SKIFF_CO_TRY_VOID(
      co_await server_->ask({.method = "POST",
                             .path = path_of(name, "stop"),
                             .body = protocol::to_json(serve::own::StopSandbox{.grace = asked_grace(how)}),
                             .patience = how.patience}));
  co_return Result<>{};
}

Task<Result<Sandbox>> ServedDriver::start(std::string name, milliseconds wait, Progress progress) {
  SKIFF_CO_TRY_VOID(check_name(name));
  progress(Phase::starting, "at " + server_->url());
  SKIFF_CO_TRY(auto answer,
               co_await server_->ask({.method = "POST", .path = path_of(name, "start"), .patience = wait + kSlack}));
  auto started = read_sandbox(answer, name);
  if (started) progress(Phase::ready, "");
  co_return started;
}

Task<Result<bool>> ServedDriver::remove(std::string name, Removal how) {
  co_return co_await remove_known(std::move(name), {}, std::move(how));
}

Task<Result<bool>> ServedDriver::remove_if(std::string name, std::string id, Removal how) {
  co_return co_await remove_known(std::move(name), std::move(id), std::move(how));
}

Task<Result<bool>> ServedDriver::remove_known(std::string name, std::string id, Removal how) {
  SKIFF_CO_TRY_VOID(check_name(name));
  SKIFF_CO_TRY_VOID(check_removal(how));
  ServerRequest request{.method = "DELETE", .path = path_of(name), .patience = how.patience};
  if (how.only_if) {
    auto now = co_await get(name);
    if (!now && is_absent(now.error())) co_return false;
    if (!now) co_return std::unexpected{std::move(now.error())};
    if ((!id.empty() && now->id != id) || !how.only_if(*now)) co_return false;
    // The server removes it only if this state is still true.
    id = now->id;
    request.query.emplace_back("state", std::string{state_word(now->state)});
  }
  if (!id.empty()) request.query.emplace_back("uid", id);
  if (const auto grace = asked_grace(how)) request.query.emplace_back("grace_ms", std::to_string(grace->count()));
  SKIFF_CO_TRY(auto answer, co_await server_->send(std::move(request)));
  if (answer.head.status == 204) co_return true;
  Error error = server_->refusal(answer);
  // A lost earlier answer may have said that the sandbox was removed.
  if (is_absent(error)) co_return answer.is_of_repeat;
  co_return std::unexpected{std::move(error)};
}

Task<Result<Sandbox>> ServedDriver::extend(std::string name, Lease lease, milliseconds wait) {
  SKIFF_CO_TRY_VOID(check_name(name));
  const serve::own::ExtendSandbox body{.ttl = lease.ttl, .idle_ttl = lease.idle_ttl};
  SKIFF_CO_TRY(
      auto answer,
      co_await server_->ask(
          {.method = "POST", .path = path_of(name, "extend"), .body = protocol::to_json(body), .patience = wait}));
  co_return read_sandbox(answer, name);
}

Endpoint ServedDriver::way_to(std::string_view name) const {
  Endpoint endpoint;
  endpoint.url = server_->url() + gateway_path(name, kAgentPort);
  endpoint.way = "serve";
  endpoint.client = server_->connection();
  endpoint.path_prefix = server_->path_prefix() + gateway_path(name, kAgentPort);
  endpoint.fresh_headers = [server = server_.get()] { return credentials_of(server); };
  endpoint.token = []() -> Result<std::string> { return std::string{}; };
  return endpoint;
}

Task<Result<Endpoint>> ServedDriver::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY_VOID(check_name(name));
  SKIFF_CO_TRY_VOID(check_grant(grant));
  serve::own::MakeToken body{.scopes = {}, .ttl = grant.lifetime};
  for (std::string_view rest{grant.scope}; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) body.scopes.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  SKIFF_CO_TRY(
      auto answer,
      co_await server_->ask(
          {.method = "POST", .path = path_of(name, "tokens"), .body = protocol::to_json(body), .patience = kLookTime}));
  SKIFF_CO_TRY(auto made, server_->read<serve::own::TokenView>(answer));
  Endpoint endpoint = way_to(name);
  // The gateway does not pass on a client's token: it creates its own, with the rights of the key.
  endpoint.token = [token = std::move(made.token)]() -> Result<std::string> { return token; };
  co_return endpoint;
}

Task<Result<protocol::Stream>> ServedDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY_VOID(check_name(name));
  co_return co_await ports_.connect(way_to(name), port);
}

Task<std::vector<Check>> ServedDriver::examine() {
  std::vector<Check> checks;
  auto answer = co_await server_->ask({.path = "/v1/me", .patience = kLookTime});
  auto key = answer ? server_->read<serve::own::KeyView>(*answer) : std::unexpected{std::move(answer.error())};
  if (!key) {
    checks.push_back({.what = "server",
                      .detail = key.error().message,
                      .remedy = "start `skiff serve` there, or correct --url and the API key as the line above says"});
    co_return checks;
  }
  checks.push_back(
      {.what = "server", .passed = true, .detail = server_->url() + (server_->is_in_clear() ? ", not encrypted" : "")});
  std::string detail = key->name + " of tenant " + key->tenant + ", allows";
  for (const serve::KeyScope scope : key->scopes) {
    detail.append(" ").append(protocol::EnumNames<serve::KeyScope>::values[static_cast<std::size_t>(scope)].name);
  }
  if (key->max_sandboxes != 0) detail += ", " + std::to_string(key->max_sandboxes) + " sandboxes at the same time";
  checks.push_back({.what = "API key", .passed = true, .detail = std::move(detail)});
  co_return checks;
}

Task<> ServedDriver::close() {
  return ports_.close();
}

Task<Result<PodOptions>> ServedDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return is_the_servers("the network of a sandbox",
                           "`skiff up --network deny` creates a sandbox that reaches nothing");
}

Task<Result<std::vector<kube::Object>>> ServedDriver::manifest(SandboxSpec, bool) {
  co_return fail(Errc::invalid_field,
                 "--driver serve does not create objects of a cluster: use `--driver pod` or `--driver claim`",
                 "--driver");
}

}  // namespace skiff::container
