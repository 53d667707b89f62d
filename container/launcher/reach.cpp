#include "container/launcher/reach.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/kube/api_proxy.hpp"
#include "container/kube/pod.hpp"
#include "container/kube/url.hpp"
#include "container/launcher/agent_client.hpp"
#include "container/launcher/gateway.hpp"
#include "container/launcher/pod_manifest.hpp"
#include "protocol/address.hpp"

namespace skiff::container {
namespace {

using protocol::HttpClient;
using std::chrono::milliseconds;

// In the order of the enum.
constexpr std::array<std::string_view, 6> kWays{"url", "in-cluster", "service", "gateway", "port-forward", "proxy"};

/// Of an address that may lie behind a firewall which says nothing.
constexpr milliseconds kDirectPatience{2'000};
constexpr milliseconds kTunnelPatience{10'000};

/// Where a service of that kind can be reached from outside; empty when it can't.
std::pair<std::string, std::uint16_t> outside_address(const ReachTarget& target) {
  if (!target.service) return {};
  if (auto addresses = kube::load_balancer_addresses(*target.service); !addresses.empty()) {
    return {std::move(addresses.front()), kAgentPort};
  }
  if (const auto port = kube::node_port(*target.service, "agent")) {
    return {target.pod.text({"status", "hostIP"}), *port};
  }
  return {};
}

/// Gives a stream that is connected already to whoever dials first; the others dial by `next`.
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

/// Asks the agent for a sign of life by this way, and keeps the connection for its first user.
Task<Result<>> probe(Executor executor, Endpoint* endpoint, std::string path) {
  HttpClient client{executor, endpoint->client};
  HttpClient::Request request{.target = endpoint->path_prefix + path, .headers = endpoint->headers};
  auto reply = co_await client.request(std::move(request));
  if (!reply) co_return std::unexpected{std::move(reply.error())};
  if (reply->head.status != 200) co_return std::unexpected{refusal(reply->head, reply->body)};
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

kube::PortForward& Reach::forward(const ReachTarget& target, std::uint16_t port) {
  auto& slot = forwards_[{target.namespace_name + "/" + target.pod.name(), port}];
  if (!slot) {
    slot = std::make_unique<kube::PortForward>(cluster_->executor(), &cluster_->client().transport(),
                                               target.namespace_name, target.pod.name(), port);
  }
  return *slot;
}

Endpoint Reach::by_address(std::string host, std::uint16_t port) const {
  Endpoint endpoint;
  endpoint.url = kube::Url{.tls = false, .host = host, .port = port}.text();
  endpoint.client.host = std::move(host);
  endpoint.client.port = port;
  endpoint.client.resolver = cluster_->resolver();
  endpoint.client.connect_time = kDirectPatience;
  return endpoint;
}

Result<Endpoint> Reach::by_url(const std::string& text, std::string_view flag) const {
  auto url = kube::parse_url(text, flag);
  if (!url) return std::unexpected{std::move(url.error())};
  Endpoint endpoint = by_address(url->host, url->port);
  endpoint.url = url->text();
  endpoint.path_prefix = url->path;
  endpoint.client.connect_time = kTunnelPatience;
  if (url->tls) {
    auto tls = protocol::TlsContext::client({});
    if (!tls) return std::unexpected{std::move(tls.error())};
    endpoint.client.tls = std::move(*tls);
  }
  return endpoint;
}

Task<Result<Endpoint>> Reach::by_gateway(const ReachTarget* target) {
  std::string where = options_.gateway_url;
  if (where.empty()) {
    if (options_.gateway.empty()) co_return Endpoint{};
    auto found = co_await find_gateway(&cluster_->client(), options_.gateway, cluster_->namespace_name());
    if (!found) co_return std::unexpected{std::move(found.error())};
    where = std::move(*found);
  }
  auto router = by_url(where, "--gateway-url");
  if (!router) co_return router;
  router->headers.add("X-Sandbox-ID", target->gateway_id);
  router->headers.add("X-Sandbox-Namespace", target->namespace_name);
  router->headers.add("X-Sandbox-Port", std::to_string(kAgentPort));
  // The name leads only to those that have a Service: what came from a pool has none.
  if (auto ip = kube::pod_ip(target->pod); !ip.empty()) router->headers.add("X-Sandbox-Pod-IP", std::move(ip));
  // The router takes it for itself; the agent has a header of its own for that.
  if (!options_.gateway_token.empty()) router->headers.add("Authorization", "Bearer " + options_.gateway_token);
  co_return router;
}

/// An endpoint without an URL: this way does not lead there.
Task<Result<Endpoint>> Reach::endpoint_by(Way way, const ReachTarget* target) {
  Endpoint endpoint;
  switch (way) {
    case Way::url:
      if (!options_.url.empty()) co_return by_url(options_.url, "--url");
      break;
    case Way::in_cluster:
      if (auto ip = kube::pod_ip(target->pod); options_.in_cluster && !ip.empty()) {
        endpoint = by_address(std::move(ip), kAgentPort);
      }
      break;
    case Way::service:
      if (auto [host, port] = outside_address(*target); !host.empty()) endpoint = by_address(std::move(host), port);
      break;
    case Way::gateway:
      if (!target->gateway_id.empty()) co_return co_await by_gateway(target);
      break;
    case Way::port_forward:
      endpoint.url = "pod " + target->namespace_name + "/" + target->pod.name();
      endpoint.client.host = "localhost";
      endpoint.client.dial = forward(*target, kAgentPort).dialer();
      endpoint.client.connect_time = kTunnelPatience;
      break;
    case Way::proxy: {
      kube::Transport& transport = cluster_->client().transport();
      auto headers = co_await transport.headers();
      if (!headers) co_return std::unexpected{std::move(headers.error())};
      endpoint.client = transport.client_options();
      endpoint.headers = std::move(*headers);
      endpoint.path_prefix =
          transport.access().server.path + kube::proxy_path(target->namespace_name, target->pod.name(), kAgentPort);
      endpoint.url = transport.access().server.text() + endpoint.path_prefix;
      break;
    }
  }
  co_return endpoint;
}

Task<Result<Endpoint>> Reach::find(ReachTarget target, std::function<Result<std::string>()> token) {
  constexpr std::array kOrder{Way::url, Way::in_cluster, Way::service, Way::gateway, Way::port_forward, Way::proxy};
  const auto is_wanted = [this](Way way) {
    if (options_.only) return way == *options_.only;
    // Who names an address wants that one.
    return options_.url.empty() || way == Way::url;
  };
  std::string said;
  for (const Way way : kOrder) {
    if (!is_wanted(way)) continue;
    auto endpoint = co_await endpoint_by(way, &target);
    Result<> works;
    if (!endpoint) {
      works = std::unexpected{std::move(endpoint.error())};
    } else if (endpoint->url.empty()) {
      continue;
    } else {
      // A router answers /healthz itself.
      std::string path = way == Way::gateway ? "/readyz" : "/healthz";
      works = co_await probe(cluster_->executor(), &*endpoint, std::move(path));
    }
    if (works) {
      endpoint->way = way_word(way);
      endpoint->token = std::move(token);
      co_return std::move(*endpoint);
    }
    said.append(said.empty() ? "" : "; ").append(way_word(way)).append(": ").append(works.error().message);
    if (way == Way::gateway && works.error().code == Errc::unauthenticated) {
      said.append("; SKIFF_GATEWAY_TOKEN is the router's token");
    }
    if (way == Way::port_forward) {
      const std::string& trouble = forward(target, kAgentPort).trouble();
      if (!trouble.empty()) said.append(" (").append(trouble).append(")");
    }
  }
  if (said.empty()) said = "no way leads there" + (options_.only ? " by " + std::string{way_word(*options_.only)} : "");
  co_return fail(Errc::sandbox_not_running, "the agent of sandbox \"" + target.sandbox + "\" does not answer: " + said,
                 "name");
}

Task<Result<protocol::Stream>> Reach::dial(ReachTarget target, std::uint16_t port) {
  if (options_.in_cluster && !options_.only) {
    auto address = protocol::Address::ip(kube::pod_ip(target.pod), port);
    if (address) {
      auto stream = co_await protocol::connect(*address, kDirectPatience, cluster_->executor());
      if (stream) co_return stream;
    }
  }
  auto stream = co_await forward(target, port).open();
  if (!stream) co_return std::unexpected{std::move(stream.error().error)};
  co_return std::move(*stream);
}

Task<> Reach::stop() {
  for (auto& [where, one] : forwards_) co_await one->stop();
}

}  // namespace skiff::container
