#include "container/cli/serve_checks.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <ranges>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/agent/client.hpp"
#include "container/agent/copy/clock_difference.hpp"
#include "container/cluster/checks.hpp"
#include "container/cluster/permissions.hpp"
#include "container/net/url.hpp"
#include "container/serve/gateway/destination.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

/// Each tenant needs some forty requests.
constexpr std::size_t kMostTenants = 50;
constexpr milliseconds kConnectTime{5000};
constexpr milliseconds kAnswerTime{10'000};
constexpr std::size_t kLongestServerAnswer = std::size_t{64} << 10U;
constexpr std::size_t kMostAddresses = 4;
/// The name of a sandbox that does not exist: without a credential the gateway only refuses.
constexpr std::string_view kNobody = "doctor";
constexpr std::uint16_t kAgentPortOfAll = 7070;

Check is_well(std::string what, std::string detail) {
  return {.what = std::move(what), .passed = true, .detail = std::move(detail)};
}
Check is_wrong(std::string what, std::string detail, std::string remedy) {
  return {.what = std::move(what), .passed = false, .detail = std::move(detail), .remedy = std::move(remedy)};
}

Task<Check> examine_tenant(Cluster* cluster, ClusterDriver driver, std::string tenant) {
  const std::string what = "tenant " + tenant;
  const std::string home = cluster->namespace_name();
  auto found = co_await cluster->client().get(kube::kNamespaces, {}, tenant);
  if (!found && found.error().not_found()) {
    co_return is_wrong(what, "there is no such namespace",
                       "`kubectl create namespace " + tenant + "`, or end its keys with `skiff key rm`");
  }
  if (found && found->is_being_deleted()) {
    co_return is_wrong(what, "its namespace is being deleted", "wait until it is gone and create it again");
  }
  auto rules = rules_of({.commands = {"serve"},
                         .driver = driver,
                         .place = RightsIn::tenant,
                         .name_prefix = cluster->options().name_prefix});
  auto missing = co_await missing_rights(&cluster->client(), std::move(*rules), tenant);
  if (!missing) {
    Check unasked = unasked_permissions(missing.error());
    unasked.what = what;
    co_return unasked;
  }
  if (missing->empty()) co_return is_well(what, "all permissions that the server needs in its namespace");
  std::string words;
  for (const std::string& one : *missing) words += (words.empty() ? "" : ", ") + one;
  const std::string claim = driver == ClusterDriver::claim ? " --driver claim" : "";
  co_return is_wrong(
      what, "not allowed in its namespace: " + words,
      "ask an administrator to run `skiff rbac serve" + claim +
          " --role-name skiff-serve --service-account skiff-serve -n " + home + " --tenant " + tenant +
          " | kubectl apply -f -`. This checks your own permissions; to check the server's, run `kubectl exec -n " +
          home + " deploy/skiff-serve -- skiff doctor --serve`");
}

Task<Result<protocol::HttpReply>> ask_at(Executor executor, const ServerAddress* address, net::Url url,
                                         std::string target) {
  protocol::HttpClientOptions options{.host = url.host,
                                      .port = url.port,
                                      .resolver = address->resolver,
                                      .connect_time = kConnectTime,
                                      .idle_time = kAnswerTime};
  if (url.tls) {
    SKIFF_CO_TRY(auto tls, protocol::TlsContext::client({.ca_pem = address->certificate_authority}));
    options.tls = std::move(tls);
  }
  protocol::HttpClient client{executor, std::move(options)};
  co_return co_await client.request({.target = std::move(target)}, kLongestServerAnswer);
}

/// The members of the answer; none if it is not an object.
nlohmann::json said_by(const protocol::HttpReply& reply) {
  nlohmann::json said = protocol::parse_json(reply.body).value_or(nlohmann::json{});
  return said.is_object() ? said : nlohmann::json::object();
}

constexpr const char* kCertificates =
    "name the authority of its certificate with --agent-certificate-authority, or use a certificate of an authority "
    "that this machine trusts";

Task<std::vector<Check>> examine_url(Executor executor, const ServerAddress* address) {
  const std::string what = "server at " + address->url;
  const std::string way =
      "check that its Pods are ready (`kubectl get pods -l app.kubernetes.io/name=skiff-serve`), and that this address "
      "leads to their Service";
  std::vector<Check> checks;
  auto url = net::parse_url(address->url, "--url");
  if (!url) {
    checks.push_back(is_wrong(what, url.error().message, "write it as http://HOST:PORT or https://HOST"));
    co_return checks;
  }
  auto reply = co_await ask_at(executor, address, *url, url->path + "/readyz");
  if (!reply) {
    const bool is_certificate = reply.error().code == Errc::unauthenticated;
    checks.push_back(is_wrong(what, reply.error().message, is_certificate ? kCertificates : way));
    co_return checks;
  }
  const nlohmann::json said = said_by(*reply);
  if (reply->head.status == 200 && text_at(said, "status") == "ok") {
    checks.push_back(is_well(what, "ready"));
  } else if (!text_at(said, "code").empty()) {
    checks.push_back(is_wrong(what, "not ready: " + text_at(said, "detail"),
                              "fix what it reports; its log has details (`kubectl logs deploy/skiff-serve`)"));
  } else {
    const std::string status = std::to_string(reply->head.status);
    checks.push_back(is_wrong(what, "the server that answers is not skiff serve: status " + status, way));
  }
  const auto ahead = clock_difference(reply->head.headers, wall_now());
  if (ahead && (*ahead > kMostClockDifference || *ahead < -kMostClockDifference)) {
    checks.push_back(
        is_wrong("clock of the server", "it is " + clock_words(*ahead),
                 "synchronize this machine's clock and the nodes' by NTP: leases, keys and links depend on it"));
  }
  co_return checks;
}

Task<std::vector<Check>> examine_domain(Executor executor, const ServerAddress* address) {
  const std::string& domain = address->domain;
  const std::string host = serve::host_of(kNobody, kAgentPortOfAll, domain);
  const std::string names = "names below " + domain;
  std::vector<Check> checks;
  auto found = co_await address->resolver(host, address->https_port);
  if (!found || found->empty()) {
    checks.push_back(is_wrong(names, found ? "\"" + host + "\" has no address" : found.error().message,
                              "create the DNS record *." + domain +
                                  " with the address of the Ingress or the Gateway in front of the server"));
    co_return checks;
  }
  std::string shown;
  for (const auto& one : *found | std::views::take(kMostAddresses)) shown += (shown.empty() ? "" : ", ") + one.text();
  checks.push_back(is_well(names, host + " is " + shown));
  const std::string what = "gateway of " + domain;
  auto reply = co_await ask_at(executor, address, {.tls = true, .host = host, .port = address->https_port}, "/");
  if (!reply) {
    const bool is_certificate = reply.error().code == Errc::unauthenticated;
    const std::string certificate = "the certificate there has to be for *." + domain + "; or " + kCertificates;
    checks.push_back(is_wrong(what, reply.error().message,
                              is_certificate ? certificate
                                             : "the proxy that ends TLS for *." + domain + " has to listen on port " +
                                                   std::to_string(address->https_port) + " there"));
    co_return checks;
  }
  const std::string code = text_at(said_by(*reply), "code");
  if (reply->head.status == 401 && code == "unauthenticated") {
    checks.push_back(is_well(what, "answers, by TLS"));
  } else if (code == "not_found") {
    checks.push_back(is_wrong(what, "a server answers that does not know the domain",
                              "start it with --domain " + domain + ", and let the proxy keep Host as it is"));
  } else {
    checks.push_back(
        is_wrong(what, "the server that answers is not skiff serve: status " + std::to_string(reply->head.status),
                 "route the hosts *." + domain + " to the Service of the server, and keep Host as it is"));
  }
  co_return checks;
}

}  // namespace

Task<KeysSeen> examine_api_keys(serve::KeyStore* keys) {
  const std::string what = "API keys";
  auto ring = co_await keys->read();
  if (!ring) {
    const bool is_right = with_right_hint(ring.error(), "serve") != ring.error().message;
    std::string remedy = is_right ? "ask an administrator to run `skiff rbac serve --role-name skiff-serve "
                                    "--service-account skiff-serve -n NAMESPACE --tenant TENANT | kubectl apply -f -`"
                                  : "look at the output of `skiff key ls` for " + keys->place();
    co_return KeysSeen{.check = is_wrong(what, ring.error().message, std::move(remedy))};
  }
  if (ring->keys.empty()) {
    co_return KeysSeen{.check = is_wrong(what, "there are none in " + keys->place(),
                                         "`skiff key create NAME --tenant TENANT` creates one, and prints it once")};
  }
  KeysSeen seen;
  std::size_t good = 0;
  for (const serve::ApiKey& key : ring->keys) {
    if (key.has_ended(wall_now())) continue;
    ++good;
    seen.tenants.insert(key.tenant);
  }
  const std::string all = std::to_string(ring->keys.size()) + " in " + keys->place();
  if (good == 0) {
    seen.check = is_wrong(what, all + ", and all of them have expired", "create another one with `skiff key create`");
  } else {
    const std::size_t ended = ring->keys.size() - good;
    seen.check = is_well(what, all + (ended == 0 ? "" : ", of which " + std::to_string(ended) + " have expired"));
  }
  co_return seen;
}

Task<std::vector<Check>> examine_tenants(Cluster* cluster, ClusterDriver driver, std::set<std::string> tenants) {
  std::vector<Check> checks;
  for (const std::string& tenant : tenants) {
    if (checks.size() == kMostTenants) {
      checks.push_back(is_well("tenants", std::to_string(tenants.size() - kMostTenants) + " more were not checked"));
      break;
    }
    checks.push_back(co_await examine_tenant(cluster, driver, tenant));
  }
  co_return checks;
}

Task<std::vector<Check>> examine_addresses(Executor executor, ServerAddress address) {
  std::vector<Check> checks;
  if (!address.url.empty()) checks = co_await examine_url(executor, &address);
  if (!address.domain.empty()) {
    std::ranges::move(co_await examine_domain(executor, &address), std::back_inserter(checks));
  }
  co_return checks;
}

}  // namespace skiff::container
