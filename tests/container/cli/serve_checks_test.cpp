#include "container/cli/serve_checks.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using serve::ApiKey;
using serve::KeyRing;
using test::answer;
using test::CannedServer;

/// A store of these keys, or with this error.
class GivenKeys final : public serve::KeyStore {
 public:
  explicit GivenKeys(Result<KeyRing> ring) : ring_{std::move(ring)} {}
  [[nodiscard]] std::string place() const override { return "Secret skiff-api-keys in namespace home"; }
  Task<Result<KeyRing>> read() override { co_return ring_; }
  Task<Result<>> change(std::function<Result<>(KeyRing&)>) override { co_return fail(Errc::not_supported, "no"); }

 private:
  Result<KeyRing> ring_;
};

ApiKey tenant_key(std::string name, std::string tenant, std::optional<std::int64_t> expires_ms = {}) {
  return {.name = std::move(name),
          .sha256 = {},
          .tenant = std::move(tenant),
          .scopes = {serve::KeyScope::use},
          .created_at = {},
          .expires_ms = expires_ms};
}

Task<KeysSeen> look_at(Result<KeyRing> ring) {
  GivenKeys keys{std::move(ring)};
  co_return co_await examine_api_keys(&keys);
}

CO_TEST(ServeChecks, CountKeysAndTellWhoseNamespacesMatter) {
  const auto seen = co_await look_at(
      KeyRing{.token_secret = "s",
              .keys = {tenant_key("a", "team-a"), tenant_key("b", "team-b", 1), tenant_key("c", "team-a")}});
  EXPECT_TRUE(seen.check.passed);
  EXPECT_EQ(seen.check.detail, "3 in Secret skiff-api-keys in namespace home, of which 1 have expired");
  EXPECT_EQ(seen.tenants, std::set<std::string>{"team-a"});
}

CO_TEST(ServeChecks, SayHowTheFirstKeyIsMade) {
  for (const KeyRing& empty : {KeyRing{}, KeyRing{.token_secret = "s"}}) {
    const auto seen = co_await look_at(empty);
    EXPECT_FALSE(seen.check.passed);
    EXPECT_TRUE(seen.check.detail.starts_with("there are none in Secret skiff-api-keys")) << seen.check.detail;
    EXPECT_TRUE(seen.check.remedy.contains("`skiff key create NAME --tenant TENANT`")) << seen.check.remedy;
  }
}

CO_TEST(ServeChecks, FindNoGoodInKeysThatAreAllOver) {
  const auto seen = co_await look_at(KeyRing{.token_secret = "s", .keys = {tenant_key("a", "team-a", 1)}});
  EXPECT_FALSE(seen.check.passed);
  EXPECT_TRUE(seen.tenants.empty());
  EXPECT_TRUE(seen.check.remedy.contains("`skiff key create`")) << seen.check.remedy;
}

CO_TEST(ServeChecks, TellARightThatIsMissingFromASecretThatIsDamaged) {
  auto seen = co_await look_at(fail(
      Errc::permission_denied, R"(secrets "k" is forbidden: User "u" cannot get resource "secrets" in API group)"));
  EXPECT_FALSE(seen.check.passed);
  EXPECT_TRUE(seen.check.remedy.contains("`skiff rbac serve --role-name ")) << seen.check.remedy;
  seen = co_await look_at(fail(Errc::invalid_field, "Secret k: api-keys.json is not base64"));
  EXPECT_TRUE(seen.check.remedy.contains("`skiff key ls`")) << seen.check.remedy;
}

/// A cluster with these namespaces, in which everything is allowed but these verbs.
void serve_namespaces(FakeApiServer* server, std::vector<std::string> namespaces, std::set<std::string> denied = {}) {
  server->before = [namespaces, denied](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.path.ends_with("/selfsubjectaccessreviews")) {
      const std::string verb = request.body.at("spec").at("resourceAttributes").at("verb");
      return FakeAnswer{.status = 201,
                        .body = nlohmann::json{{"status", {{"allowed", !denied.contains(verb)}}}}.dump()};
    }
    for (const std::string& one : namespaces) {
      if (request.path.ends_with("/namespaces/" + one)) {
        return FakeAnswer{.body = nlohmann::json{{"kind", "Namespace"}, {"metadata", {{"name", one}}}}.dump()};
      }
    }
    return FakeApiServer::refusal(404, "NotFound", "not found");
  };
}

CO_TEST(ServeChecks, AskInTheNamespaceOfEachTenant, FakeCluster& fake) {
  serve_namespaces(&fake.server, {"team-a", "team-b"});
  const auto checks = co_await examine_tenants(fake.cluster.get(), ClusterDriver::pod, {"team-a", "team-b"});
  CO_ASSERT_TRUE(checks.size() == 2U);
  EXPECT_EQ(checks[0].what, "tenant team-a");
  for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.detail;
}

CO_TEST(ServeChecks, NameWhatIsMissingThereAndTheRoleThatGivesIt, FakeCluster& fake) {
  serve_namespaces(&fake.server, {"team-a"}, {"watch", "patch"});
  const auto checks = co_await examine_tenants(fake.cluster.get(), ClusterDriver::claim, {"team-a"});
  CO_ASSERT_TRUE(checks.size() == 1U);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_TRUE(checks[0].detail.contains("watch pods")) << checks[0].detail;
  EXPECT_TRUE(
      checks[0].remedy.contains("`skiff rbac serve --driver claim --role-name skiff-serve --service-account "
                                "skiff-serve -n default --tenant team-a "
                                "| kubectl apply -f -`"))
      << checks[0].remedy;
}

CO_TEST(ServeChecks, TellANamespaceThatIsNotThere, FakeCluster& fake) {
  serve_namespaces(&fake.server, {});
  const auto checks = co_await examine_tenants(fake.cluster.get(), ClusterDriver::pod, {"gone"});
  CO_ASSERT_TRUE(checks.size() == 1U);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_TRUE(checks[0].remedy.contains("`kubectl create namespace gone`")) << checks[0].remedy;
  EXPECT_EQ(fake.server.count("POST", "/selfsubjectaccessreviews"), 0U);
}

CO_TEST(ServeChecks, LookAtFiftyTenantsAndSayHowManyAreLeftOut, FakeCluster& fake) {
  serve_namespaces(&fake.server, {});
  std::set<std::string> many;
  for (int i = 0; i < 53; ++i) many.insert("t" + std::to_string(i));
  const auto checks = co_await examine_tenants(fake.cluster.get(), ClusterDriver::pod, std::move(many));
  CO_ASSERT_TRUE(checks.size() == 51U);
  EXPECT_TRUE(checks.back().detail.starts_with("3 more")) << checks.back().detail;
}

// --- addresses ---

std::string server_url(const CannedServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.access().server.port);
}

Task<Check> ask_ready(Executor executor, std::string text) {
  CannedServer server{executor, {{std::move(text)}}};
  const auto checks = co_await examine_addresses(executor, {.url = server_url(server) + "/base/"});
  EXPECT_EQ(server.requests().size(), 1U);
  if (!server.requests().empty()) EXPECT_TRUE(server.requests()[0].starts_with("GET /base/readyz "));
  co_await server.stop();
  co_return checks.at(0);
}

CO_TEST(ServeChecks, PassAServerThatIsReady) {
  const Check check = co_await ask_ready(executor, answer("200 OK", R"({"status":"ok"})"));
  EXPECT_TRUE(check.passed) << check.detail;
  EXPECT_TRUE(check.what.starts_with("server at http://127.0.0.1:")) << check.what;
}

CO_TEST(ServeChecks, RepeatWhatAServerSaysThatIsNotReady) {
  const Check check = co_await ask_ready(
      executor, answer("503 Service Unavailable", R"({"code":"draining","detail":"this server is about to stop"})"));
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.detail, "not ready: this server is about to stop");
}

CO_TEST(ServeChecks, AreNotTakenInByAnotherServer) {
  for (const char* text : {"ok", "[]", R"({"status":1})"}) {
    const Check check = co_await ask_ready(executor, answer("200 OK", text));
    EXPECT_FALSE(check.passed) << text;
    EXPECT_EQ(check.detail, "the server that answers is not skiff serve: status 200");
  }
}

CO_TEST(ServeChecks, TellAnAddressThatLeadsNowhere) {
  auto checks = co_await examine_addresses(executor, {.url = "http://127.0.0.1:1"});
  CO_ASSERT_TRUE(checks.size() == 1U);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_TRUE(checks[0].remedy.contains("kubectl get pods")) << checks[0].remedy;
  checks = co_await examine_addresses(executor, {.url = "ftp://127.0.0.1"});
  CO_ASSERT_TRUE(checks.size() == 1U);
  EXPECT_TRUE(checks[0].remedy.contains("http://HOST:PORT")) << checks[0].remedy;
}

CO_TEST(ServeChecks, CompareTheClockOfTheServer) {
  CannedServer server{executor, {{answer("200 OK", R"({"status":"ok"})", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")}}};
  const auto checks = co_await examine_addresses(executor, {.url = server_url(server)});
  CO_ASSERT_TRUE(checks.size() == 2U);
  EXPECT_TRUE(checks[0].passed);
  EXPECT_FALSE(checks[1].passed);
  EXPECT_TRUE(checks[1].detail.ends_with(" s behind this machine's")) << checks[1].detail;
  co_await server.stop();
}

/// A proxy that ends TLS for names below box.test.
struct Front {
  Front(Executor executor, unsigned status, std::string body)
      : context{protocol::TlsContext::server({.certificate_file = directory.write("cert", certificate.certificate_pem),
                                              .key_file = directory.write("key", certificate.key_pem)})
                    .value()},
        server{executor,
               [this, status, body](protocol::HttpExchange& exchange) -> Task<> {
                 hosts.emplace_back(exchange.request().headers.get("Host"));
                 (void)co_await exchange.respond({.status = status, .body = body});
               },
               {},
               context} {}

  [[nodiscard]] ServerAddress address(std::string domain) const {
    const auto here = server.address;
    return {.domain = std::move(domain),
            .certificate_authority = certificate.certificate_pem,
            .resolver = [here](std::string, std::uint16_t) -> Task<Result<std::vector<protocol::Address>>> {
              co_return std::vector{here};
            },
            .https_port = here.port()};
  }

  std::vector<std::string> hosts;
  skiff::test::TemporaryDirectory directory;
  skiff::test::Certificate certificate = skiff::test::make_certificate();
  std::shared_ptr<protocol::TlsContext> context;
  skiff::test::TestServer server;
};

constexpr const char* kGatewaySays = R"({"code":"unauthenticated","detail":"show an API key"})";

CO_TEST(ServeChecks, FindTheGatewayByANameBelowTheDomain) {
  Front front{executor, 401, kGatewaySays};
  const auto checks = co_await examine_addresses(executor, front.address("box.test"));
  CO_ASSERT_TRUE(checks.size() == 2U);
  EXPECT_EQ(checks[0].what, "names below box.test");
  EXPECT_TRUE(checks[0].detail.starts_with("7070-doctor.box.test is 127.0.0.1:")) << checks[0].detail;
  EXPECT_TRUE(checks[1].passed) << checks[1].detail;
  EXPECT_EQ(front.hosts, std::vector{"7070-doctor.box.test:" + std::to_string(front.server.address.port())});
  co_await front.server.server.stop();
}

CO_TEST(ServeChecks, TellACertificateThatIsNotForTheNames) {
  Front front{executor, 401, kGatewaySays};
  const auto checks = co_await examine_addresses(executor, front.address("other.test"));
  CO_ASSERT_TRUE(checks.size() == 2U);
  EXPECT_FALSE(checks[1].passed);
  EXPECT_TRUE(checks[1].remedy.contains("*.other.test")) << checks[1].remedy;
  EXPECT_TRUE(front.hosts.empty());
  co_await front.server.server.stop();
}

CO_TEST(ServeChecks, TellAServerWithoutTheDomainFromAnotherServer) {
  Front unaware{executor, 404, R"({"code":"not_found","detail":"there is no such path"})"};
  auto checks = co_await examine_addresses(executor, unaware.address("box.test"));
  EXPECT_FALSE(checks.at(1).passed);
  EXPECT_TRUE(checks.at(1).remedy.contains("--domain box.test")) << checks.at(1).remedy;
  co_await unaware.server.server.stop();
  Front other{executor, 200, "welcome"};
  checks = co_await examine_addresses(executor, other.address("box.test"));
  EXPECT_FALSE(checks.at(1).passed);
  EXPECT_TRUE(checks.at(1).detail.contains("not skiff serve: status 200")) << checks.at(1).detail;
  co_await other.server.server.stop();
}

CO_TEST(ServeChecks, SayWhichRecordIsMissing) {
  ServerAddress nowhere{.domain = "box.test"};
  nowhere.resolver = [](std::string host, std::uint16_t) -> Task<Result<std::vector<protocol::Address>>> {
    co_return fail(Errc::not_found, "look up \"" + host + "\": Name or service not known");
  };
  const auto checks = co_await examine_addresses(executor, std::move(nowhere));
  CO_ASSERT_TRUE(checks.size() == 1U);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_TRUE(checks[0].remedy.contains("*.box.test")) << checks[0].remedy;
}

}  // namespace
}  // namespace skiff::container
