// The client against a real API server.
#include "container/kube/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/async/task_group.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;
using test::config_map;
using test::connect_as;
using test::create_namespace;

CO_TEST(KubeClient, AsksForTheVersionWithAClientCertificate) {
  Client client = connect_as(executor, "admin");
  auto version = co_await client.version();
  CO_ASSERT_TRUE(version.has_value()) << version.error().error.message;
  EXPECT_EQ(version->git_version, "v1.34.4");
}

CO_TEST(KubeClient, DoesNotTrustAnotherAuthority) {
  Access access = test::access_as("admin");
  access.ca_pem.clear();
  Client client = test::connect(executor, std::move(access));
  auto version = co_await client.version();
  CO_ASSERT_TRUE(!version.has_value());
  EXPECT_EQ(version.error().error.code, Errc::unauthenticated);
  EXPECT_NE(version.error().error.message.find("check certificate-authority"), std::string::npos)
      << version.error().error.message;
}

CO_TEST(KubeClient, ChecksTheServersName) {
  Access named = test::access_as("admin");
  named.tls_server_name = "kubernetes.default.svc";
  Client client = test::connect(executor, named);
  auto version = co_await client.version();
  EXPECT_TRUE(version.has_value());
  named.tls_server_name = "other.test";
  Client misnamed = test::connect(executor, named);
  version = co_await misnamed.version();
  EXPECT_FALSE(version.has_value());
  named.insecure_skip_tls_verify = true;
  Client insecure = test::connect(executor, std::move(named));
  version = co_await insecure.version();
  EXPECT_TRUE(version.has_value());
}

CO_TEST(KubeClient, TellsWhoMayNotAndWhoIsUnknown) {
  Client outsider = connect_as(executor, "outsider");
  auto pods = co_await outsider.list(kPods, "default");
  CO_ASSERT_TRUE(!pods.has_value());
  EXPECT_TRUE(pods.error().forbidden());
  EXPECT_EQ(pods.error().status.reason, "Forbidden");
  EXPECT_EQ(pods.error().error.message.find("list pods of default: pods is forbidden: User \"outsider\" cannot list"),
            0u)
      << pods.error().error.message;
  Client stranger = connect_as(executor, "stranger");
  pods = co_await stranger.list(kPods, "default");
  CO_ASSERT_TRUE(!pods.has_value());
  EXPECT_EQ(pods.error().status.code, 401u);
  EXPECT_EQ(pods.error().error.code, Errc::unauthenticated);
}

CO_TEST(KubeClient, ActsAsSomebodyElse) {
  Access access = test::access_as("admin");
  access.identity.impersonate = "outsider";
  access.identity.impersonate_groups = {"guests"};
  Client client = test::connect(executor, std::move(access));
  auto pods = co_await client.list(kPods, "default");
  CO_ASSERT_TRUE(!pods.has_value());
  EXPECT_NE(pods.error().error.message.find("\"outsider\""), std::string::npos);
}

CO_TEST(KubeClient, AsksWhatIsAllowed) {
  Client admin = connect_as(executor, "admin");
  Client outsider = connect_as(executor, "outsider");
  const Permission permission{
      .verb = "get", .resource = "pods", .subresource = "portforward", .namespace_name = "default"};
  auto may = co_await admin.allowed(permission);
  CO_ASSERT_TRUE(may.has_value()) << may.error().error.message;
  EXPECT_TRUE(*may);
  may = co_await outsider.allowed(permission);
  CO_ASSERT_TRUE(may.has_value()) << may.error().error.message;
  EXPECT_FALSE(*may);
}

CO_TEST(KubeClient, KnowsWhichKindsTheServerHas) {
  Client client = connect_as(executor, "admin");
  auto has = co_await client.serves(kNetworkPolicies);
  CO_ASSERT_TRUE(has.has_value()) << has.error().error.message;
  EXPECT_TRUE(*has);
  has = co_await client.serves(kSandboxClaims);
  CO_ASSERT_TRUE(has.has_value()) << has.error().error.message;
  EXPECT_FALSE(*has);
}

CO_TEST(KubeClient, CreatesReadsAndDeletes) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.create(kConfigMaps, config_map(ns, "a", "1"));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  EXPECT_FALSE(made->uid().empty());
  EXPECT_TRUE(made->created().has_value());
  auto again = co_await client.create(kConfigMaps, config_map(ns, "a", "2"));
  CO_ASSERT_TRUE(!again.has_value());
  EXPECT_TRUE(again.error().already_exists());
  auto read = co_await client.get(kConfigMaps, ns, "a");
  CO_ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->text({"data", "key"}), "1");

  auto other = co_await client.remove(kConfigMaps, ns, "a", {.uid = "00000000-0000-0000-0000-000000000000"});
  CO_ASSERT_TRUE(!other.has_value());
  EXPECT_TRUE(other.error().conflict()) << other.error().error.message;
  auto removed = co_await client.remove(kConfigMaps, ns, "a", {.uid = made->uid()});
  EXPECT_TRUE(removed.has_value());
  removed = co_await client.remove(kConfigMaps, ns, "a");
  CO_ASSERT_TRUE(!removed.has_value());
  EXPECT_TRUE(removed.error().not_found());
}

CO_TEST(KubeClient, StoresNothingInADryRunAndRefusesUnknownFields) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto dry = co_await client.create(kConfigMaps, config_map(ns, "a", "1"), {.dry_run = true});
  EXPECT_TRUE(dry.has_value());
  auto read = co_await client.get(kConfigMaps, ns, "a");
  CO_ASSERT_TRUE(!read.has_value());
  EXPECT_TRUE(read.error().not_found());
  Object odd = config_map(ns, "a", "1");
  odd.json["dta"] = Json::object();
  auto refused = co_await client.create(kConfigMaps, odd);
  CO_ASSERT_TRUE(!refused.has_value());
  EXPECT_EQ(refused.error().status.code, 400u);
  EXPECT_NE(refused.error().error.message.find("unknown field \"dta\""), std::string::npos);
}

CO_TEST(KubeClient, HandsOnTheServersWarnings) {
  std::vector<std::string> warnings;
  TransportOptions options;
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  Client client = test::connect(executor, test::access_as("admin"), std::move(options));
  Object odd = config_map("default", test::fresh_name("odd"), "1");
  odd.json["dta"] = Json::object();
  auto made = co_await client.create(kConfigMaps, odd, {.strict = false});
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  CO_ASSERT_TRUE(warnings.size() == 1);
  EXPECT_EQ(warnings[0], "unknown field \"dta\"");
}

CO_TEST(KubeClient, NamesTheFieldsThatAreWrong) {
  Client client = connect_as(executor, "admin");
  Object pod = Object::make(kPods, "default", test::fresh_name("bad"));
  pod.json["spec"] = {{"restartPolicy", "Sometimes"}, {"containers", {{{"name", "a"}, {"image", "x"}}}}};
  auto made = co_await client.create(kPods, pod);
  CO_ASSERT_TRUE(!made.has_value());
  EXPECT_EQ(made.error().status.reason, "Invalid");
  CO_ASSERT_TRUE(!made.error().status.causes.empty());
  EXPECT_EQ(made.error().status.causes[0].field, "spec.restartPolicy");
  EXPECT_EQ(made.error().error.field, "spec.restartPolicy");
}

CO_TEST(KubeClient, AppliesFieldsAndTellsWhoOwnsThem) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.apply(kConfigMaps, config_map(ns, "a", "1"), {.field_manager = "one"});
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  auto same = co_await client.apply(kConfigMaps, config_map(ns, "a", "2"), {.field_manager = "one"});
  CO_ASSERT_TRUE(same.has_value()) << same.error().error.message;
  EXPECT_EQ(same->text({"data", "key"}), "2");
  auto other = co_await client.apply(kConfigMaps, config_map(ns, "a", "3"), {.field_manager = "two"});
  CO_ASSERT_TRUE(!other.has_value());
  EXPECT_EQ(other.error().status.code, 409u);
  CO_ASSERT_TRUE(!other.error().status.causes.empty());
  EXPECT_EQ(other.error().status.causes[0].reason, "FieldManagerConflict");
  auto forced = co_await client.apply(kConfigMaps, config_map(ns, "a", "3"), {.force = true, .field_manager = "two"});
  CO_ASSERT_TRUE(forced.has_value()) << forced.error().error.message;
  EXPECT_EQ(forced->text({"data", "key"}), "3");
}

CO_TEST(KubeClient, ClaimsByATestThatOnlyOneCanPass) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  auto made = co_await client.create(kConfigMaps, config_map(ns, "a", "free"));
  CO_ASSERT_TRUE(made.has_value());
  const auto claim = [](const char* who) {
    return Json::array({{{"op", "test"}, {"path", "/data/key"}, {"value", "free"}},
                        {{"op", "replace"}, {"path", "/data/key"}, {"value", who}}});
  };
  auto first = co_await client.patch(kConfigMaps, ns, "a", PatchKind::json, claim("me"));
  CO_ASSERT_TRUE(first.has_value()) << first.error().error.message;
  EXPECT_EQ(first->text({"data", "key"}), "me");
  auto second = co_await client.patch(kConfigMaps, ns, "a", PatchKind::json, claim("you"));
  CO_ASSERT_TRUE(!second.has_value());
  EXPECT_EQ(second.error().status.code, 422u);
}

CO_TEST(KubeClient, MergesAStatusAndSeesThatSomebodyWasFaster) {
  Client client = connect_as(executor, "admin");
  const std::string ns = co_await create_namespace(&client);
  Object service = Object::make(kServices, ns, "s");
  service.json["spec"] = {{"type", "LoadBalancer"}, {"ports", {{{"port", 80}}}}};
  auto made = co_await client.create(kServices, service);
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  const Json status{{"status", {{"loadBalancer", {{"ingress", {{{"ip", "192.0.2.1"}}}}}}}}};
  auto patched = co_await client.patch(kServices, ns, "s", PatchKind::merge, status, "status");
  CO_ASSERT_TRUE(patched.has_value()) << patched.error().error.message;
  const Json* ingress = patched->find({"status", "loadBalancer", "ingress"});
  CO_ASSERT_TRUE(ingress != nullptr);
  EXPECT_EQ((*ingress)[0]["ip"], "192.0.2.1");

  const Json stale{{"metadata", {{"resourceVersion", made->resource_version()}, {"labels", {{"a", "b"}}}}}};
  auto late = co_await client.patch(kServices, ns, "s", PatchKind::merge, stale);
  CO_ASSERT_TRUE(!late.has_value());
  EXPECT_TRUE(late.error().conflict()) << late.error().error.message;
}

Task<> create_one(Client* client, std::string ns, int number, int* made) {
  Object object = config_map(ns, "m" + std::to_string(number), "x");
  object.json["metadata"]["labels"]["kind"] = number % 2 == 0 ? "even" : "odd";
  auto answer = co_await client->create(kConfigMaps, std::move(object));
  if (answer) ++*made;
}

CO_TEST(KubeClient, ListsManyByPagesOverFewConnections) {
  TransportOptions options;
  options.connections = 4;
  Client client = test::connect(executor, test::access_as("admin"), options);
  const std::string ns = co_await create_namespace(&client);
  TaskGroup group{executor};
  int made = 0;
  constexpr int kMany = 60;
  for (int i = 0; i < kMany; ++i) group.spawn("create", create_one(&client, ns, i, &made));
  EXPECT_EQ(client.transport().connections().in_use(), 4u);
  co_await group.join();
  EXPECT_EQ(made, kMany);
  EXPECT_LE(client.transport().connections().idle(), 4u);

  auto even = co_await client.list(kConfigMaps, ns, {.label_selector = "kind=even", .page = 7});
  CO_ASSERT_TRUE(even.has_value()) << even.error().error.message;
  std::set<std::string> names;
  for (const Object& object : even->items) names.insert(object.name());
  EXPECT_EQ(names.size(), kMany / 2);
  EXPECT_EQ(even->items.front().text({"kind"}), "ConfigMap");
  EXPECT_FALSE(even->resource_version.empty());

  std::vector<std::size_t> pages;
  auto note = [&pages](std::vector<Object> items, bool is_first) {
    EXPECT_EQ(is_first, pages.empty());
    pages.push_back(items.size());
  };
  auto version = co_await client.each_page(kConfigMaps, ns, {.label_selector = "kind=even", .page = 7}, note);
  CO_ASSERT_TRUE(version.has_value()) << version.error().error.message;
  EXPECT_THAT(pages, testing::ElementsAre(7, 7, 7, 7, 2));

  auto first = co_await client.list_page(kConfigMaps, ns, {.label_selector = "kind=odd", .page = 7});
  CO_ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->items.size(), 7u);
  EXPECT_FALSE(first->continue_token.empty());
}

CO_TEST(KubeClient, SaysThatAPathOrNamespaceIsUnknown) {
  Client client = connect_as(executor, "admin");
  auto none = co_await client.list(kSandboxes, "default");
  CO_ASSERT_TRUE(!none.has_value());
  EXPECT_TRUE(none.error().not_found());
  EXPECT_NE(none.error().error.message.find("404 page not found"), std::string::npos) << none.error().error.message;
  auto made = co_await client.create(kConfigMaps, config_map("no-such-namespace", "a", "1"));
  CO_ASSERT_TRUE(!made.has_value());
  EXPECT_TRUE(made.error().not_found());
}

}  // namespace
}  // namespace skiff::kube
