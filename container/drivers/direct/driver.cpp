#include "container/drivers/direct/driver.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/small_file.hpp"
#include "container/agent/client.hpp"
#include "container/net/resolver.hpp"
#include "container/net/url.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kLongestCredential = std::size_t{64} << 10U;
constexpr milliseconds kPatience{10'000};
constexpr std::string_view kUnix = "unix:";

/// In token files as skiffd reads them, scopes and a session may follow the token.
std::string first_word(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return std::string{text.substr(begin, std::min(text.find_first_of(kSpace, begin), text.size()) - begin)};
}

std::unexpected<Error> not_made_here(const std::string& url, std::string_view what) {
  return fail(Errc::invalid_field,
              "`skiff " + std::string{what} + "` is for sandboxes that skiff has created; the skiffd at " + url +
                  " was started by somebody else (for sandboxes of skiff: --driver pod, claim or local)",
              "--driver");
}

}  // namespace

DirectDriver::DirectDriver(Executor executor, DirectOptions options)
    : executor_{executor}, options_{std::move(options)} {}

Result<std::unique_ptr<DirectDriver>> DirectDriver::open(Executor executor, DirectOptions options) {
  std::unique_ptr<DirectDriver> driver{new DirectDriver{executor, std::move(options)}};
  SKIFF_TRY_VOID(driver->read_url());
  if (!driver->options_.key_file.empty()) {
    auto pem = read_small_file(driver->options_.key_file, kLongestCredential);
    if (!pem) return fail(pem.error().code, "--key-file: " + pem.error().message, "--key-file");
    auto key = SigningKey::parse_pem(*pem);
    wipe(*pem);
    if (!key) {
      return fail(key.error().code, "--key-file " + driver->options_.key_file + ": " + key.error().message,
                  "--key-file");
    }
    driver->key_ = std::move(*key);
  }
  return driver;
}

Result<> DirectDriver::read_url() {
  const std::string& text = options_.url;
  if (text.empty()) {
    return fail(Errc::missing_field,
                "--driver direct needs the address of a skiffd: --url http://HOST:7070, or SKIFF_URL", "--url");
  }
  client_.connect_time = kPatience;
  if (text.starts_with(kUnix)) {
    std::string path = text.substr(kUnix.size());
    if (path.starts_with("//")) path.erase(0, 2);
    if (!path.starts_with('/')) {
      return fail(Errc::invalid_field, "--url \"" + text + "\": write it as unix:///PATH/OF/THE/SOCKET", "--url");
    }
    auto address = protocol::Address::parse(std::string{kUnix} + path);
    if (!address) return fail(address.error().code, "--url: " + address.error().message, "--url");
    client_.host = "localhost";
    client_.unix_path = path;
    url_ = "unix://" + path;
    return {};
  }
  if (!text.contains("://")) {
    return fail(Errc::invalid_field,
                "--url \"" + text + "\": write it as http://HOST:PORT, https://HOST:PORT or unix:///PATH", "--url");
  }
  SKIFF_TRY(auto url, net::parse_url(text, "--url"));
  client_.host = url.host;
  client_.port = url.port;
  client_.resolver = net::system_resolver();
  url_ = url.text();
  path_prefix_ = url.path;
  if (!url.tls) return {};
  auto tls = protocol::TlsContext::client({.ca_file = options_.agent_certificate_authority});
  if (!tls)
    return fail(tls.error().code, "--agent-certificate-authority: " + tls.error().message,
                "--agent-certificate-authority");
  client_.tls = std::move(*tls);
  client_.tls_server_name = options_.agent_server_name;
  return {};
}

Result<std::string> DirectDriver::token_for(const std::string& name, const TokenGrant& grant) const {
  if (key_) {
    const std::string& id = options_.sandbox_id.empty() ? name : options_.sandbox_id;
    return sign_token(*key_, id, "skiff", grant, wall_now());
  }
  if (options_.token_file.empty()) return options_.token;
  auto text = read_small_file(options_.token_file, kLongestCredential);
  if (!text) return fail(text.error().code, "--token-file: " + text.error().message, "--token-file");
  std::string token = first_word(*text);
  wipe(*text);
  if (token.empty())
    return fail(Errc::invalid_field, "--token-file " + options_.token_file + " is empty", "--token-file");
  return token;
}

Endpoint DirectDriver::endpoint_of(const std::string& name, TokenGrant grant) const {
  Endpoint endpoint;
  endpoint.url = url_;
  endpoint.way = "direct";
  endpoint.client = client_;
  endpoint.path_prefix = path_prefix_;
  endpoint.token = [this, name, grant = std::move(grant)] { return token_for(name, grant); };
  return endpoint;
}

std::string DirectDriver::how_to_be_let_in() const {
  if (key_) {
    return "the token was signed by --key-file for the sandbox id that --sandbox-id, or else NAME, says: that has to "
           "be "
           "the skiffd's (its own --sandbox-id, or the name of its host), it needs the public half of the key "
           "(--public-key), and both clocks have to agree";
  }
  const bool none = options_.token.empty() && options_.token_file.empty();
  return std::string{none ? "give" : "the agent does not accept this token: set another one with"} +
         " SKIFF_TOKEN, --token-file FILE, or --key-file FILE, which signs tokens";
}

Task<Result<json>> DirectDriver::ask(std::string name) {
  if (version_) co_return *version_;
  AgentClient agent{executor_, endpoint_of(name, {.scope = "read"})};
  // Connect before the request: a failure here concerns the address, not the token.
  if (auto connected = co_await agent.http().connect(); !connected) {
    const bool is_strange = connected.error().code == Errc::unauthenticated;
    co_return fail(
        connected.error().code,
        "the skiffd at " + url_ + " can't be reached: " + connected.error().message +
            (is_strange ? "; --agent-certificate-authority FILE names its authority" : "; --url says where it is"),
        "--url");
  }
  auto version = co_await agent.get("/v1/version");
  if (!version && version.error().code == Errc::insufficient_scope) {
    version_ = json::object();
  } else if (!version && version.error().code == Errc::unauthenticated) {
    co_return fail(Errc::unauthenticated, "the skiffd at " + url_ + " does not let us in: " + version.error().message +
                                              "; " + how_to_be_let_in());
  } else if (!version) {
    co_return fail(version.error().code, "the skiffd at " + url_ + ": " + version.error().message);
  } else {
    version_ = std::move(*version);
  }
  co_return *version_;
}

Task<Result<Sandbox>> DirectDriver::get(std::string name) {
  SKIFF_CO_TRY(auto version, co_await ask(name));
  Sandbox sandbox{.name = name,
                  .id = text_at(version, "sandbox_id"),
                  .driver = "direct",
                  .state = SandboxState::running,
                  .reason = {},
                  .owner = {},
                  .image = {},
                  .labels = {},
                  .created_at = {},
                  .expires_at = {},
                  .address = url_,
                  .details = {}};
  const json labels = object_at(version, "labels");
  for (const auto& [label, value] : labels.items()) {
    if (value.is_string()) sandbox.labels[label] = value.get<std::string>();
  }
  AgentClient agent{executor_, endpoint_of(name, {.scope = "read"})};
  // A token that may not read the activity may still allow other work.
  if (auto activity = co_await agent.get("/v1/activity")) {
    const std::string end = text_at(object_at(*activity, "lease"), "expires_at");
    if (!end.empty()) sandbox.expires_at = end;
    sandbox.details["last_used_at"] = text_at(*activity, "last_used_at");
  }
  co_return sandbox;
}

Task<Result<SandboxPage>> DirectDriver::list(SandboxFilter filter) {
  SKIFF_CO_TRY(auto version, co_await ask(options_.sandbox_id));
  std::string id = text_at(version, "sandbox_id");
  SKIFF_CO_TRY(auto sandbox, co_await get(std::move(id)));
  SandboxPage page;
  const bool fits = std::ranges::all_of(filter.labels, [&](const auto& wanted) {
    const auto found = sandbox.labels.find(wanted.first);
    return found != sandbox.labels.end() && found->second == wanted.second;
  });
  const bool is_wanted = filter.state.value_or(sandbox.state) == sandbox.state && filter.limit > 0;
  if (fits && is_wanted && (filter.cursor.empty() || sandbox.name > filter.cursor)) {
    page.items.push_back(std::move(sandbox));
  }
  co_return page;
}

Task<Result<Sandbox>> DirectDriver::extend(std::string name, Lease lease, std::chrono::milliseconds /*wait*/) {
  SKIFF_CO_TRY_VOID(co_await ask(name));
  AgentClient agent{executor_, endpoint_of(name, {})};
  std::string body = protocol::to_json(lease);
  SKIFF_CO_TRY_VOID(co_await agent.post("/v1/lease", std::move(body)));
  co_return co_await get(std::move(name));
}

Task<Result<Endpoint>> DirectDriver::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY_VOID(check_grant(grant));
  if (!key_ && grant.lifetime != kTokenLifetime) {
    co_return fail(
        Errc::invalid_field,
        "tokens are signed with the private key that belongs to the skiffd's --public-key: name it with --key-file",
        "--key-file");
  }
  SKIFF_CO_TRY_VOID(co_await ask(name));
  co_return endpoint_of(name, std::move(grant));
}

Task<Result<protocol::Stream>> DirectDriver::dial(std::string, std::uint16_t port) {
  if (!client_.unix_path.empty()) {
    co_return fail(Errc::invalid_field,
                   "a socket of a file system leads to the skiffd alone: name the host of the port "
                   "by --url http://HOST:PORT",
                   "--url");
  }
  protocol::HttpClientOptions options = client_;
  options.port = port;
  options.tls = nullptr;
  protocol::HttpClient client{executor_, std::move(options)};
  SKIFF_CO_TRY_VOID(co_await client.connect());
  co_return std::move(client.take_upgraded().stream);
}

Task<std::vector<Check>> DirectDriver::examine() {
  std::vector<Check> checks;
  const bool is_in_clear = client_.tls == nullptr && client_.unix_path.empty();
  auto version = co_await ask(options_.sandbox_id);
  if (!version) {
    checks.push_back({.what = "skiffd",
                      .detail = version.error().message,
                      .remedy = "start it there, or correct --url and the token as the line above says"});
    co_return checks;
  }
  checks.push_back(
      {.what = "skiffd",
       .passed = true,
       .detail = url_ + ", version " + text_at(*version, "version") + (is_in_clear ? ", not encrypted" : "")});
  const char* const by = key_ ? "signed by --key-file" : options_.token_file.empty() ? "SKIFF_TOKEN" : "--token-file";
  const bool has_none = !key_ && options_.token_file.empty() && options_.token.empty();
  checks.push_back({.what = "token", .passed = true, .detail = has_none ? "none, and none is wanted" : by});
  co_return checks;
}

Task<Result<Sandbox>> DirectDriver::create(SandboxSpec, Progress) {
  co_return fail(
      Errc::invalid_field,
      "the driver direct creates no sandbox, it uses the skiffd at " + url_ +
          ": `skiff exec NAME -- COMMAND` runs a command there (to create one: --driver pod, claim or local)",
      "--driver");
}

Task<Result<>> DirectDriver::stop(std::string, Removal) {
  co_return not_made_here(url_, "stop");
}

Task<Result<Sandbox>> DirectDriver::start(std::string, milliseconds, Progress) {
  co_return not_made_here(url_, "start");
}

Task<Result<bool>> DirectDriver::remove(std::string, Removal) {
  co_return not_made_here(url_, "rm");
}

Task<Result<bool>> DirectDriver::remove_if(std::string, std::string, Removal) {
  co_return not_made_here(url_, "gc");
}

Task<Result<PodOptions>> DirectDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return not_made_here(url_, "network");
}

Task<Result<std::vector<kube::Object>>> DirectDriver::manifest(SandboxSpec, bool) {
  co_return not_made_here(url_, "manifest");
}

}  // namespace skiff::container
