#include "container/cluster/reach.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <boost/asio/ip/tcp.hpp>
#include <nlohmann/json.hpp>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::sandbox_pod;

std::function<Result<std::string>()> a_token() {
  return [] { return std::string{"token"}; };
}

ReachTarget reached_box() {
  return {.sandbox = "box", .namespace_name = "default", .pod = sandbox_pod("box", "s1")};
}

/// The fake has no port-forward, so its agents are behind the proxy.
Task<Result<Endpoint>> look(FakeCluster* fake, ReachOptions options, ReachTarget target = reached_box()) {
  Reach reach{fake->cluster.get(), std::move(options)};
  auto found = co_await reach.find(std::move(target), a_token());
  co_await reach.stop();
  co_return found;
}

std::size_t forwards_asked_for(const FakeCluster& fake) {
  return static_cast<std::size_t>(std::ranges::count_if(
      fake.server.requests(), [](const FakeRequest& one) { return one.path.ends_with("/portforward"); }));
}

TEST(Reach, HasAWordForEachWay) {
  for (const Way way : {Way::url, Way::in_cluster, Way::service, Way::gateway, Way::port_forward, Way::proxy}) {
    EXPECT_EQ(find_way(way_word(way)), way);
  }
  EXPECT_EQ(find_way("carrier-pigeon"), std::nullopt);
}

CO_TEST(Reach, TakesTheProxyWhenAPortForwardIsRefused, FakeCluster& fake) {
  auto found = co_await look(&fake, {});
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->way, "proxy");
  EXPECT_EQ(found->token().value(), "token");
  EXPECT_GE(forwards_asked_for(fake), 1u) << "that comes first";
}

CO_TEST(Reach, HoldsNothingOfSandboxesThatNobodyDials, FakeCluster& fake) {
  Reach reach{fake.cluster.get(), {.only = Way::port_forward}};
  for (const char* name : {"a", "b", "c"}) {
    ReachTarget target{.sandbox = name, .namespace_name = "default", .pod = sandbox_pod(name, "s1")};
    EXPECT_FALSE(co_await reach.find(std::move(target), a_token()));
    EXPECT_EQ(reach.forwards(), 1u);
  }
  co_await reach.stop();
}

CO_TEST(Reach, TriesOnlyTheWayThatWasNamed, FakeCluster& fake) {
  auto found = co_await look(&fake, {.only = Way::proxy});
  EXPECT_TRUE(found.has_value());
  EXPECT_EQ(forwards_asked_for(fake), 0u);
  found = co_await look(&fake, {.only = Way::gateway});
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_running);
  EXPECT_EQ(found.error().message, "the agent of sandbox \"box\" does not answer: no way leads there by gateway");
}

CO_TEST(Reach, TriesNothingBesideAnAddressThatWasNamed, FakeCluster& fake) {
  FakeCluster gone{executor};
  const std::string nobody = "http://127.0.0.1:" + std::to_string(gone.server.port());
  co_await gone.stop();
  auto found = co_await look(&fake, {.url = nobody});
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("url: ")) << found.error().message;
  EXPECT_FALSE(found.error().message.contains("proxy: ")) << found.error().message;
  EXPECT_TRUE(fake.server.requests().empty()) << "the cluster was asked";
}

CO_TEST(Reach, SaysWhatEachWaySaidWhenNoneLeadsThere, FakeCluster& fake) {
  fake.server.agent = [](const FakeRequest&) -> FakeAnswer {
    return fakes::agent_refusal(503, R"({"code":"draining","detail":"the agent stops"})");
  };
  auto found = co_await look(&fake, {});
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_running);
  EXPECT_TRUE(found.error().message.contains("port-forward: ")) << found.error().message;
  EXPECT_TRUE(found.error().message.contains("proxy: the agent stops")) << found.error().message;
}

CO_TEST(Reach, UsesAPodsAddressOnlyFromWithinItsCluster, FakeCluster& fake) {
  ReachTarget target = reached_box();
  target.pod.json["status"]["podIP"] = "127.0.0.1";  // where nobody listens on the agent's port
  auto found = co_await look(&fake, {}, target);
  CO_ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->way, "proxy");
  found = co_await look(&fake, {.only = Way::in_cluster}, target);
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("no way leads there")) << found.error().message;
  found = co_await look(&fake, {.only = Way::in_cluster, .in_cluster = true}, target);
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("in-cluster: ")) << found.error().message;
}

/// Its Service with a LoadBalancer's address, or with a node port.
ReachTarget box_with_service(nlohmann::json service) {
  ReachTarget target = reached_box();
  target.service = kube::Object{std::move(service)};
  return target;
}

CO_TEST(Reach, LeavesAnAddressInClearTextAloneUnlessItIsNamed, FakeCluster& fake) {
  const ReachTarget target = box_with_service({{"status", {{"loadBalancer", {{"ingress", {{{"ip", "127.0.0.1"}}}}}}}}});
  fake.server.agent = [](const FakeRequest&) -> FakeAnswer { return {.status = 404, .body = "no"}; };
  auto found = co_await look(&fake, {}, target);
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("proxy: ")) << found.error().message;
  EXPECT_FALSE(found.error().message.contains("service: ")) << found.error().message;
  found = co_await look(&fake, {.only = Way::service}, target);
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("service: ")) << found.error().message;
}

CO_TEST(Reach, ReachesANodePortByTheNodesOuterAddress, FakeCluster& fake) {
  ReachTarget target =
      box_with_service({{"spec", {{"ports", {{{"name", "agent"}, {"nodePort", fake.server.port()}}}}}}});
  target.pod.json["spec"]["nodeName"] = "one";
  target.pod.json["status"]["hostIP"] = "127.0.0.2";  // where nobody listens
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.path == "/healthz") return FakeAnswer{.body = "{}"};
    return std::nullopt;
  };
  kube::Object node = kube::Object::make(kube::kNodes, {}, "one");
  node.json["status"]["addresses"] = {{{"type", "InternalIP"}, {"address", "127.0.0.2"}},
                                      {{"type", "ExternalIP"}, {"address", "127.0.0.1"}}};
  fake.server.put(kube::kNodes, std::move(node));
  auto found = co_await look(&fake, {.only = Way::service}, target);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->url, "http://127.0.0.1:" + std::to_string(fake.server.port()));
  // Few may look at nodes: the address that the Pod tells has to do.
  fake.server.erase(kube::kNodes, {}, "one");
  target.pod.json["status"]["hostIP"] = "127.0.0.1";
  found = co_await look(&fake, {.only = Way::service}, target);
  EXPECT_TRUE(found.has_value()) << found.error().message;
}

CO_TEST(Reach, ReachesANodePortByAnAddressOfTheServicesFamily, FakeCluster& fake) {
  ReachTarget target = box_with_service({{"spec",
                                          {{"ports", {{{"name", "agent"}, {"nodePort", fake.server.port()}}}},
                                           {"ipFamilies", nlohmann::json::array({"IPv4"})}}}});
  target.pod.json["spec"]["nodeName"] = "one";
  target.pod.json["status"]["hostIP"] = "fd00:89::2";
  target.pod.json["status"]["hostIPs"] = {{{"ip", "fd00:89::2"}}, {{"ip", "127.0.0.1"}}};
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.path == "/healthz") return FakeAnswer{.body = "{}"};
    return std::nullopt;
  };
  const std::string at = "http://127.0.0.1:" + std::to_string(fake.server.port());
  kube::Object node = kube::Object::make(kube::kNodes, {}, "one");
  node.json["status"]["addresses"] = {{{"type", "ExternalIP"}, {"address", "fd00:77::2"}},
                                      {{"type", "ExternalIP"}, {"address", "127.0.0.1"}}};
  fake.server.put(kube::kNodes, node);
  auto found = co_await look(&fake, {.only = Way::service}, target);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->url, at);
  // The node's outer address is of the other family alone.
  node.json["status"]["addresses"].erase(1);
  fake.server.put(kube::kNodes, std::move(node));
  found = co_await look(&fake, {.only = Way::service}, target);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->url, at);
}

/// A router before agents that speaks TLS, for 127.0.0.1 and box.test.
struct TlsRouter {
  explicit TlsRouter(Executor executor)
      : context{protocol::TlsContext::server({.certificate_file = directory.write("cert", certificate.certificate_pem),
                                              .key_file = directory.write("key", certificate.key_pem)})
                    .value()},
        server{executor, [this](protocol::HttpExchange& exchange) { return answer(exchange); }, {}, context} {}
  Task<> answer(protocol::HttpExchange& exchange) {
    hosts.emplace_back(exchange.request().headers.get("Host"));
    auto sent = co_await exchange.respond({.body = "{}"});
    EXPECT_TRUE(sent.has_value());
  }
  [[nodiscard]] std::string port() const { return std::to_string(server.address.port()); }
  [[nodiscard]] std::string ca() const { return directory / "cert"; }
  Task<> stop() { return server.server.stop(); }

  std::vector<std::string> hosts;
  skiff::test::TemporaryDirectory directory;
  skiff::test::Certificate certificate = skiff::test::make_certificate();
  std::shared_ptr<protocol::TlsContext> context;
  skiff::test::TestServer server;
};

CO_TEST(Reach, TrustsTheAuthorityThatIsNamedForAnAgent, FakeCluster& fake) {
  TlsRouter agent{executor};
  const std::string url = "https://127.0.0.1:" + agent.port();
  auto found = co_await look(&fake, {.url = url});
  CO_ASSERT_TRUE(!found) << "the system knows nothing of it";
  found = co_await look(&fake, {.url = url, .certificate_authority = agent.ca()});
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->way, "url");
  found = co_await look(&fake, {.url = url, .certificate_authority = agent.ca(), .server_name = "other.test"});
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("mismatch")) << found.error().message;
  found = co_await look(&fake, {.url = url, .certificate_authority = agent.ca(), .server_name = "box.test"});
  EXPECT_TRUE(found.has_value()) << found.error().message;
  found = co_await look(&fake, {.url = url, .certificate_authority = agent.directory / "none"});
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("--agent-certificate-authority")) << found.error().message;
  co_await agent.stop();
}

/// A Gateway with one listener; without an address at first.
kube::Object a_gateway(std::string_view protocol, const std::string& port, std::string_view hostname) {
  kube::Object gateway = kube::Object::make(kube::kGateways, "default", "front");
  gateway.json["spec"]["listeners"] = {{{"protocol", protocol}, {"port", std::stoi(port)}, {"hostname", hostname}}};
  return gateway;
}

CO_TEST(Reach, AsksAGatewayByTheNameOfItsListener, FakeCluster& fake) {
  TlsRouter router{executor};
  fake.server.served[std::string{kube::kGateways.group} + "/v1"] = {"gateways"};
  kube::Object gateway = a_gateway("HTTPS", router.port(), "box.test");
  gateway.json["status"]["addresses"] = {{{"value", "127.0.0.1"}}};
  fake.server.put(kube::kGateways, std::move(gateway));
  ReachTarget target = reached_box();
  target.gateway_id = "skiff-box";
  ReachOptions options{.gateway = "front", .only = Way::gateway};
  options.certificate_authority = router.ca();
  auto found = co_await look(&fake, options, target);
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(router.hosts, std::vector{"box.test:" + router.port()});
  EXPECT_EQ(found->url, "https://127.0.0.1:" + router.port());
  co_await router.stop();
}

CO_TEST(Reach, WaitsForAGatewayAsLongAsItsCaller, FakeCluster& fake) {
  TlsRouter router{executor};
  fake.server.served[std::string{kube::kGateways.group} + "/v1"] = {"gateways"};
  fake.server.put(kube::kGateways, a_gateway("HTTPS", router.port(), ""));
  ReachTarget target = reached_box();
  target.gateway_id = "skiff-box";
  ReachOptions options{.gateway = "front", .only = Way::gateway};
  options.certificate_authority = router.ca();
  auto found = co_await look(&fake, options, target);
  CO_ASSERT_TRUE(!found) << "nobody waits";
  EXPECT_TRUE(found.error().message.contains("no address yet")) << found.error().message;
  fake.server.before = [&, asked = 0](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/gateways/front") || ++asked != 3) return std::nullopt;
    fake.server.change(kube::kGateways, "default", "front",
                       [](nlohmann::json& gateway) { gateway["status"]["addresses"] = {{{"value", "127.0.0.1"}}}; });
    return std::nullopt;
  };
  const auto waiting =
      fake.cluster->client().transport().wait_until(std::chrono::steady_clock::now() + std::chrono::hours{1});
  found = co_await look(&fake, options, target);
  EXPECT_TRUE(found.has_value()) << found.error().message;
  co_await router.stop();
}

CO_TEST(Reach, WaitsForNoFrozenAgentLongerThanItsCaller, FakeCluster& fake) {
  // It is connected to, as by the kernel for a process that is stopped, and says nothing.
  boost::asio::ip::tcp::acceptor silent{executor, {boost::asio::ip::address_v4::loopback(), 0}};
  const auto waiting =
      fake.cluster->client().transport().wait_until(std::chrono::steady_clock::now() + std::chrono::seconds{1});
  auto found = co_await look(&fake, {.url = "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port())});
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_running);
  EXPECT_TRUE(found.error().message.contains("url: no answer within ")) << found.error().message;
}

CO_TEST(Reach, WaitsNoLongerForOthersWhoBeginToWaitMeanwhile, FakeCluster& fake) {
  const auto cluster = fake.open(executor, 100);
  std::optional<kube::Transport::Wait> others;
  int asked = 0;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.path.contains("/proxy/")) return std::nullopt;
    ++asked;
    // Somebody makes a sandbox, which takes its time.
    const SteadyTime late = std::chrono::steady_clock::now() + std::chrono::hours{1};
    if (!others) others.emplace(&cluster->client().transport(), late);
    return asked < 50 ? std::optional{fakes::FakeApiServer::refusal(503, "ServiceUnavailable", "no endpoints")}
                      : std::nullopt;
  };
  Reach reach{cluster.get(), {.only = Way::proxy}};
  EXPECT_FALSE(co_await reach.find(reached_box(), a_token()));
  EXPECT_LT(asked, 50);
  others.reset();
  co_await reach.stop();
}

CO_TEST(Reach, WaitsForNothingThatWillNotPass, FakeCluster& fake) {
  fake.server.before = [](const FakeRequest&) { return fakes::FakeApiServer::refusal(403, "Forbidden", "no"); };
  const auto waiting =
      fake.cluster->client().transport().wait_until(std::chrono::steady_clock::now() + std::chrono::hours{1});
  auto found = co_await look(&fake, {});
  CO_ASSERT_TRUE(!found);
  EXPECT_TRUE(found.error().message.contains("403")) << found.error().message;
}

CO_TEST(Reach, HasCredentialsAnewForTheProxyWhenTheyExpire, FakeCluster& fake) {
  // A credential that has always expired already.
  const std::string credential =
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"run-$n",)"
      R"("expirationTimestamp":"2001-01-01T00:00:00Z"}})";
  const std::string script = "echo x >>" + (fake.directory / "runs") + "; n=$(wc -l <" + (fake.directory / "runs") +
                             "); cat <<END\n" + credential + "\nEND\n";
  const nlohmann::json config{
      {"clusters",
       {{{"name", "c"}, {"cluster", {{"server", "http://127.0.0.1:" + std::to_string(fake.server.port())}}}}}},
      {"users",
       {{{"name", "u"},
         {"user",
          {{"exec",
            {{"apiVersion", "client.authentication.k8s.io/v1"},
             {"command", "sh"},
             {"args", {"-c", script}},
             {"interactiveMode", "Never"}}}}}}}},
      {"contexts", {{{"name", "x"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
      {"current-context", "x"}};
  ClusterOptions options;
  options.access.kubeconfig = fake.directory.write("plugin", config.dump());
  auto cluster = Cluster::open(executor, std::move(options)).value();
  Reach reach{cluster.get(), {.only = Way::proxy}};
  auto found = co_await reach.find(reached_box(), a_token());
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  auto before = co_await found->fresh_headers();
  auto after = co_await found->fresh_headers();
  CO_ASSERT_TRUE(before && after);
  EXPECT_TRUE(before->get("Authorization").starts_with("Bearer run-"));
  EXPECT_NE(before->get("Authorization"), after->get("Authorization"));
  EXPECT_TRUE(found->headers.get("Authorization").empty()) << "it would be that of the beginning for ever";
  co_await reach.stop();
}

CO_TEST(Reach, TellsARouterWhomItMeansAndNobodyElseItsToken, FakeCluster& fake) {
  FakeCluster router{executor};
  ReachTarget target = reached_box();
  target.gateway_id = "skiff-box";
  const std::string url = "http://127.0.0.1:" + std::to_string(router.server.port());
  auto found = co_await look(&fake, {.gateway_url = url, .gateway_token = "routers", .only = Way::gateway}, target);
  // The imitation knows no /readyz: what was sent is what counts.
  CO_ASSERT_TRUE(!router.server.requests().empty());
  EXPECT_EQ(router.server.requests().front().path, "/readyz");
  EXPECT_TRUE(fake.server.requests().empty());
  if (!found) EXPECT_TRUE(found.error().message.contains("gateway: ")) << found.error().message;
  co_await router.stop();
}

}  // namespace
}  // namespace skiff::container
