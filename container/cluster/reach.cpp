#include "container/cluster/reach.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "base/small_file.hpp"
#include "container/agent/client.hpp"
#include "container/cluster/gateway.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/kube/api_proxy.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/net/backoff.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::HttpClient;
using std::chrono::milliseconds;

// The words, in the order of the enum.
constexpr std::array<std::string_view, 6> kWays{"url", "in-cluster", "gateway", "port-forward", "proxy", "service"};

/// Patience with an address behind a firewall that may drop packets silently.
constexpr milliseconds kDirectPatience{2'000};
constexpr milliseconds kTunnelPatience{10'000};
/// Patience with an agent after the connection: a busy agent needs time, and a frozen one never answers.
constexpr milliseconds kAnswerPatience{30'000};
constexpr milliseconds kLeastPatience{1'000};
constexpr std::size_t kMostCaBytes = 1024 * 1024;

/// The address at which a node can be reached from outside and listens for the Service; empty if it reports none.
std::string external_ip(const kube::Object& node, const kube::Object& service) {
  const json* addresses = node.find({"status", "addresses"});
  if (addresses == nullptr || !addresses->is_array()) return {};
  for (const json& entry : *addresses) {
    const kube::Object one{entry};
    std::string address = one.text({"address"});
    if (one.text({"type"}) == "ExternalIP" && kube::has_family_of(service, address)) return address;
  }
  return {};
}

/// The address of the Pod's node within the cluster's network at which it listens for the Service; empty if there is
/// none.
std::string internal_ip(const kube::Object& pod, const kube::Object& service) {
  std::string first = pod.text({"status", "hostIP"});
  if (kube::has_family_of(service, first)) return first;
  const json* addresses = pod.find({"status", "hostIPs"});
  if (addresses == nullptr || !addresses->is_array()) return {};
  for (const json& entry : *addresses) {
    std::string address = kube::Object{entry}.text({"ip"});
    if (kube::has_family_of(service, address)) return address;
  }
  return {};
}

/// True if waiting may help: the other side did not answer, or is not ready.
bool may_pass(const Error& error) {
  return error.code == Errc::io_error || error.code == Errc::timeout || error.code == Errc::sandbox_not_running;
}

bool is_unavailable(unsigned status) {
  return status == 502 || status == 503 || status == 504;
}

/// A dialer that returns the connected stream to its first caller, and uses `next` for the others.
protocol::Dialer first_gets(protocol::Upgraded connected, protocol::Dialer next) {
  auto kept = std::make_shared<std::optional<protocol::Stream>>(std::move(connected.stream));
  return [kept = std::move(kept), next = std::move(next)](milliseconds limit) -> Task<Result<protocol::Stream>> {
    if (kept->has_value()) {
      return [](protocol::Stream stream) -> Task<Result<protocol::Stream>> {
        co_return stream;
      }(*std::exchange(*kept, std::nullopt));
    }
    return next(limit);
  };
}

/// Keeps the port-forward alive while it dials.
Task<Result<protocol::Stream>> dial_by(std::shared_ptr<kube::PortForward> forward, milliseconds limit) {
  co_return co_await forward->dialer()(limit);
}

/// Sends a request to the agent by this way, and keeps the connection for the first user.
Task<Result<>> probe(Executor executor, Endpoint* endpoint, std::string path, bool* passes) {
  HttpClient client{executor, endpoint->client};
  HttpClient::Request request{.target = endpoint->path_prefix + path, .headers = endpoint->headers};
  if (endpoint->fresh_headers) {
    SKIFF_CO_TRY(auto fresh, co_await endpoint->fresh_headers());
    request.headers.append(fresh);
  }
  auto reply = co_await client.request(std::move(request));
  if (!reply) {
    *passes = may_pass(reply.error());
    co_return std::unexpected{std::move(reply.error())};
  }
  if (reply->head.status != 200) {
    *passes = is_unavailable(reply->head.status);
    co_return std::unexpected{refusal(reply->head, reply->body)};
  }
  const bool is_plain = !endpoint->client.tls;
  if (is_plain && endpoint->client.dial && client.connected()) {
    endpoint->client.dial = first_gets(client.take_upgraded(), endpoint->client.dial);
  }
  co_return Result<>{};
}

}  // namespace

std::string_view way_word(Way way) noexcept {
  return kWays[static_cast<std::size_t>(way)];
}

std::optional<Way> find_way(std::string_view word) noexcept {
  const auto* const found = std::ranges::find(kWays, word);
  if (found == kWays.end()) return std::nullopt;
  return static_cast<Way>(found - kWays.begin());
}

Reach::Reach(Cluster* cluster, ReachOptions options) : cluster_{cluster}, options_{std::move(options)} {}

Reach::~Reach() = default;

std::shared_ptr<kube::PortForward> Reach::forward(const ReachTarget& target, std::uint16_t port) {
  const std::pair where{target.namespace_name + "/" + target.pod.name(), port};
  if (const auto known = forwards_.find(where); known != forwards_.end()) return known->second;
  // While a server runs, sandboxes come and go: drop port-forwards without dialers and connections.
  std::erase_if(forwards_,
                [](const auto& one) { return one.second.use_count() == 1 && one.second->connections() == 0; });
  auto made = std::make_shared<kube::PortForward>(cluster_->executor(), &cluster_->client().transport(),
                                                  target.namespace_name, target.pod.name(), port);
  forwards_.emplace(where, made);
  return made;
}

/// A caller that waits long for a sandbox also waits long for a tunnel, and for the ways after it.
milliseconds Reach::tunnel_patience() const {
  const auto left = cluster_->client().transport().waited_for() - std::chrono::steady_clock::now();
  return std::max(kTunnelPatience, std::chrono::duration_cast<milliseconds>(left / 3));
}

/// The caller's limit is kept, and one silent way leaves time for the ways after it.
milliseconds Reach::answer_patience() const {
  const SteadyTime until = cluster_->client().transport().waited_for();
  if (until == SteadyTime{}) return kAnswerPatience;
  const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
  return std::clamp(left, kLeastPatience, std::max(kAnswerPatience, left / 3));
}

Endpoint Reach::by_address(std::string host, std::uint16_t port) const {
  Endpoint endpoint;
  endpoint.url = net::Url{.tls = false, .host = host, .port = port}.text();
  endpoint.client.host = std::move(host);
  endpoint.client.port = port;
  endpoint.client.resolver = cluster_->resolver();
  endpoint.client.connect_time = kDirectPatience;
  return endpoint;
}

Result<Endpoint> Reach::by_url(const net::Url& url) const {
  Endpoint endpoint = by_address(url.host, url.port);
  endpoint.url = url.text();
  endpoint.path_prefix = url.path;
  endpoint.client.connect_time = tunnel_patience();
  if (!url.tls) return endpoint;
  protocol::TlsClientSettings settings;
  if (!options_.certificate_authority.empty()) {
    auto pem = read_small_file(options_.certificate_authority, kMostCaBytes);
    if (!pem) return fail(pem.error().code, "--agent-certificate-authority: " + pem.error().message);
    settings.ca_pem = std::move(*pem);
  }
  auto tls = protocol::TlsContext::client(settings);
  if (!tls) return fail(tls.error().code, "--agent-certificate-authority: " + tls.error().message);
  endpoint.client.tls = std::move(*tls);
  endpoint.client.tls_server_name = options_.server_name;
  return endpoint;
}

Task<Result<Endpoint>> Reach::by_gateway(const ReachTarget* target) {
  if (options_.gateway_url.empty() && options_.gateway.empty()) co_return Endpoint{};
  Result<GatewayAddress> where{GatewayAddress{}};
  if (options_.gateway_url.empty()) {
    where = co_await find_gateway(&cluster_->client(), options_.gateway, cluster_->namespace_name());
    if (!where) co_return std::unexpected{std::move(where.error())};
  } else {
    SKIFF_CO_TRY(auto url, net::parse_url(options_.gateway_url, "--gateway-url"));
    where->url = std::move(url);
  }
  auto router = by_url(where->url);
  if (!router) co_return router;
  if (!where->hostname.empty()) {
    // The listener expects that host name, which need not be in DNS here.
    router->client.resolver = [next = cluster_->resolver(), host = where->url.host](
                                  const std::string&, std::uint16_t port) { return next(host, port); };
    router->client.host = std::move(where->hostname);
  }
  router->headers.add("X-Sandbox-ID", target->gateway_id);
  router->headers.add("X-Sandbox-Namespace", target->namespace_name);
  router->headers.add("X-Sandbox-Port", std::to_string(agent_port_of(target->pod)));
  // The name works only for sandboxes with a Service; those from a pool have none.
  if (auto ip = kube::pod_ip(target->pod); !ip.empty()) router->headers.add("X-Sandbox-Pod-IP", std::move(ip));
  // The router consumes this header; the agent's token has a header of its own.
  if (!options_.gateway_token.empty()) router->headers.add("Authorization", "Bearer " + options_.gateway_token);
  co_return router;
}

Task<Result<Endpoint>> Reach::by_service(const ReachTarget* target) {
  if (!target->service) co_return Endpoint{};
  if (auto addresses = kube::load_balancer_addresses(*target->service); !addresses.empty()) {
    co_return by_address(std::move(addresses.front()), agent_port_of(target->pod));
  }
  const auto port = kube::node_port(*target->service, "agent");
  if (!port) co_return Endpoint{};
  // Few users may read nodes; within their network the internal address works, too.
  auto node = co_await cluster_->client().get(kube::kNodes, {}, target->pod.text({"spec", "nodeName"}));
  std::string host = node ? external_ip(*node, *target->service) : std::string{};
  if (host.empty()) host = internal_ip(target->pod, *target->service);
  if (host.empty()) co_return Endpoint{};
  co_return by_address(std::move(host), *port);
}

/// The endpoint of one way; its URL is empty if the way does not lead there.
Task<Result<Endpoint>> Reach::endpoint_by(Way way, const ReachTarget* target) {
  Endpoint endpoint;
  switch (way) {
    case Way::url:
      if (!options_.url.empty()) {
        SKIFF_CO_TRY(auto url, net::parse_url(options_.url, "--url"));
        co_return by_url(url);
      }
      break;
    case Way::in_cluster:
      if (auto ip = kube::pod_ip(target->pod); options_.in_cluster && !ip.empty()) {
        endpoint = by_address(std::move(ip), agent_port_of(target->pod));
      }
      break;
    case Way::service:
      co_return co_await by_service(target);
    case Way::gateway:
      if (!target->gateway_id.empty()) co_return co_await by_gateway(target);
      break;
    case Way::port_forward:
      endpoint.url = "pod " + target->namespace_name + "/" + target->pod.name();
      endpoint.client.host = "localhost";
      endpoint.client.dial = [held = forward(*target, agent_port_of(target->pod))](milliseconds limit) {
        return dial_by(held, limit);
      };
      endpoint.client.connect_time = tunnel_patience();
      break;
    case Way::proxy: {
      kube::Transport& transport = cluster_->client().transport();
      endpoint.client = transport.passage();
      endpoint.fresh_headers = [&transport] { return transport.headers(); };
      endpoint.path_prefix = transport.access().server.path +
                             kube::proxy_path(target->namespace_name, target->pod.name(), agent_port_of(target->pod));
      endpoint.url = transport.access().server.text() + endpoint.path_prefix;
      break;
    }
  }
  co_return endpoint;
}

bool Reach::is_wanted(Way way) const {
  if (options_.only) return way == *options_.only;
  // If the user names an address, only that one is used. Tokens do not cross a network in clear text unless the user
  // chooses it.
  return way != Way::service && (options_.url.empty() || way == Way::url);
}

bool Reach::goes_by_name() const noexcept {
  if (options_.only) return *options_.only == Way::port_forward || *options_.only == Way::proxy;
  return options_.url.empty() && !options_.in_cluster;
}

Task<Reach::Trial> Reach::try_ways(const ReachTarget* target) {
  constexpr std::array kOrder{Way::url, Way::in_cluster, Way::gateway, Way::port_forward, Way::proxy, Way::service};
  Trial trial;
  std::string& said = trial.said;
  for (const Way way : kOrder) {
    if (!is_wanted(way)) continue;
    auto endpoint = co_await endpoint_by(way, target);
    Result<> works;
    bool passes = false;
    if (!endpoint) {
      passes = may_pass(endpoint.error());
      works = std::unexpected{std::move(endpoint.error())};
    } else if (endpoint->url.empty()) {
      continue;
    } else {
      // A router answers /healthz itself.
      std::string path = way == Way::gateway ? "/readyz" : "/healthz";
      const milliseconds patience = answer_patience();
      auto answered = co_await within(std::chrono::steady_clock::now() + patience,
                                      probe(cluster_->executor(), &*endpoint, std::move(path), &passes));
      if (answered) {
        works = std::move(*answered);
      } else {
        passes = true;
        works = fail(Errc::timeout, "no answer within " + std::to_string(patience.count()) + " ms");
      }
    }
    if (works) {
      endpoint->way = way_word(way);
      trial.found = std::move(*endpoint);
      co_return trial;
    }
    trial.may_pass = trial.may_pass || passes;
    said.append(said.empty() ? "" : "; ").append(way_word(way)).append(": ").append(works.error().message);
    if (way == Way::gateway && works.error().code == Errc::unauthenticated) {
      said.append("; SKIFF_GATEWAY_TOKEN is the router's token");
    }
    if (way == Way::port_forward) {
      const auto tried = forward(*target, agent_port_of(target->pod));
      if (const std::string& trouble = tried->trouble(); !trouble.empty())
        said.append(" (").append(trouble).append(")");
    }
  }
  if (said.empty()) said = "no way leads there" + (options_.only ? " by " + std::string{way_word(*options_.only)} : "");
  co_return trial;
}

Task<Result<Endpoint>> Reach::find(ReachTarget target, std::function<Result<std::string>()> token) {
  kube::Transport& transport = cluster_->client().transport();
  net::Backoff backoff{transport.retry_limits()};
  // A `Wait` that begins later does not extend this call.
  const SteadyTime until = transport.waited_for();
  for (;;) {
    Trial trial = co_await try_ways(&target);
    if (trial.found) {
      trial.found->token = std::move(token);
      co_return std::move(*trial.found);
    }
    const auto wait = backoff.next(until);
    if (!trial.may_pass || !wait || std::chrono::steady_clock::now() + *wait > until) {
      co_return fail(Errc::sandbox_not_running,
                     "the agent of sandbox \"" + target.sandbox + "\" does not answer: " + trial.said, "name");
    }
    co_await pause(*wait);
  }
}

Task<Result<protocol::Stream>> Reach::dial(ReachTarget target, std::uint16_t port) {
  if (options_.in_cluster && (!options_.only || *options_.only == Way::in_cluster)) {
    auto address = protocol::Address::ip(kube::pod_ip(target.pod), port);
    if (address) {
      auto stream = co_await protocol::connect(*address, kDirectPatience, cluster_->executor());
      if (stream) co_return stream;
    }
  }
  const auto held = forward(target, port);
  SKIFF_CO_TRY(auto stream, co_await held->open());
  co_return std::move(stream);
}

Task<> Reach::stop() {
  for (auto& [where, one] : forwards_) co_await one->stop();
}

}  // namespace skiff::container
