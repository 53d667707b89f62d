#include "container/cluster/rbac.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "container/cli/parse/command.hpp"
#include "container/drivers/pods/driver.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

std::vector<ApiRule> rules(std::vector<std::string> commands, ClusterDriver driver = ClusterDriver::pod) {
  return rules_of({.commands = std::move(commands), .driver = driver}).value();
}

bool allows(const std::vector<ApiRule>& rules, std::string_view resource, std::string_view verb) {
  return std::ranges::any_of(
      rules, [&](const ApiRule& rule) { return rule.resource == resource && rule.verbs.contains(std::string{verb}); });
}

TEST(Rbac, HasARowForEveryCommandThatThereIs) {
  const auto rows = commands_with_rights();
  for (const Command& command : commands()) {
    const std::string_view first = command.name.substr(0, command.name.find(' '));
    if (!command.group.empty()) EXPECT_EQ(std::ranges::count(rows, first), 1) << first;
  }
}

TEST(Rbac, NamesEachKindOfObjectOnceAndNoVerbThatTheApiDoesNotHave) {
  const std::set<std::string> known{"get", "list", "watch", "create", "update", "patch", "delete"};
  for (const ClusterDriver driver : {ClusterDriver::pod, ClusterDriver::claim}) {
    std::set<std::string> seen;
    for (const ApiRule& rule : rules({}, driver)) {
      EXPECT_TRUE(seen.insert(rule.group + "/" + rule.resource + "/" + rule.name).second) << rule.resource;
      EXPECT_FALSE(rule.verbs.empty()) << rule.resource;
      for (const std::string& verb : rule.verbs) EXPECT_TRUE(known.contains(verb)) << rule.resource << " " << verb;
    }
  }
}

TEST(Rbac, AllCommandsNeedWhatEachOfThemNeedsButAnotherKeyIsForWhoAsksForIt) {
  for (const ClusterDriver driver : {ClusterDriver::pod, ClusterDriver::claim}) {
    const auto all = rules({}, driver);
    EXPECT_FALSE(allows(all, "secrets", "patch"));
    EXPECT_TRUE(allows(rules({"key"}, driver), "secrets", "patch"));
    for (const std::string_view command : commands_with_rights()) {
      if (command == "key" || command == "secret") continue;
      for (const ApiRule& rule : rules({std::string{command}}, driver)) {
        for (const std::string& verb : rule.verbs) EXPECT_TRUE(allows(all, rule.resource, verb)) << command;
      }
    }
  }
}

TEST(Rbac, SecretsAreKeptInTheNamespaceOfTheProxyAlone) {
  const auto there = rules_of({.commands = {"secret", "exec"}, .place = RightsIn::egress}).value();
  ASSERT_EQ(there.size(), 1U);
  EXPECT_EQ(
      there.front(),
      (ApiRule{.group = "", .resource = "secrets", .name = "", .verbs = {"create", "delete", "get", "list", "patch"}}));
  EXPECT_FALSE(allows(rules({"secret"}), "secrets", "get")) << "that is the namespace of sandboxes";
  EXPECT_TRUE(allows(rules({"secret"}), "configmaps", "patch"));
  EXPECT_TRUE(rules_of({.commands = {"exec", "up"}, .place = RightsIn::egress})->empty());
}

TEST(Rbac, LetsThoseWhoReachAgentsReadTheGatewayThatIsNamed) {
  const auto named = [](std::string command) {
    auto needed = rules_of({.commands = {std::move(command)}, .gateway = "front"}).value();
    std::erase_if(needed, [](const ApiRule& rule) { return rule.resource != "gateways"; });
    return needed;
  };
  const ApiRule only{.group = "gateway.networking.k8s.io", .resource = "gateways", .name = "front", .verbs = {"get"}};
  EXPECT_EQ(named("exec"), std::vector{only});
  EXPECT_TRUE(named("ps").empty());
  EXPECT_FALSE(allows(rules({}), "gateways", "get"));
}

TEST(Rbac, GivesTheKeyAndNoOtherSecret) {
  for (const ApiRule& rule : rules({})) {
    if (rule.resource != "secrets") continue;
    EXPECT_TRUE(rule.name == "skiff-signing-key" || rule.verbs == std::set<std::string>{"create"});
  }
}

TEST(Rbac, KnowsTheKeyByThePrefixOfNames) {
  const auto rules = rules_of({.commands = {"exec"}, .name_prefix = "mine-"}).value();
  EXPECT_EQ(std::ranges::count(rules, "mine-signing-key", &ApiRule::name), 1);
}

TEST(Rbac, LetsWhoOnlyLooksChangeNothing) {
  EXPECT_TRUE(allows(rules({"ps"}), "pods", "list"));
  for (const ApiRule& rule : rules({"ps"})) EXPECT_EQ(rule.verbs, std::set<std::string>{"list"});
  EXPECT_FALSE(allows(rules({"exec"}), "pods", "delete"));
  EXPECT_TRUE(allows(rules({"run"}), "pods", "delete"));
  EXPECT_FALSE(allows(rules({"run"}), "configmaps", "create"));
  EXPECT_TRUE(rules({"completion"}).empty());
}

TEST(Rbac, OfAManifestMakesNothingButTheKey) {
  for (const ApiRule& rule : rules({"manifest"}, ClusterDriver::claim)) {
    for (const std::string& verb : rule.verbs) EXPECT_TRUE(verb == "get" || verb == "list" || verb == "create") << verb;
  }
  EXPECT_TRUE(allows(rules({"manifest"}, ClusterDriver::claim), "sandboxtemplates", "create")) << "a dry run is one";
  EXPECT_TRUE(rules({"network"}, ClusterDriver::claim).empty()) << "it is refused there";
}

std::vector<ApiRule> of_server(RightsIn place, ClusterDriver driver = ClusterDriver::pod) {
  return rules_of({.commands = {"serve"}, .driver = driver, .place = place}).value();
}

TEST(RbacOfServe, ReadsTheApiKeysInItsOwnNamespaceAndNothingElse) {
  const ApiRule only{.group = "", .resource = "secrets", .name = "skiff-api-keys", .verbs = {"get"}};
  for (const ClusterDriver driver : {ClusterDriver::pod, ClusterDriver::claim}) {
    EXPECT_EQ(of_server(RightsIn::home, driver), std::vector{only});
    for (const ApiRule& rule : of_server(RightsIn::tenant, driver)) EXPECT_NE(rule.name, "skiff-api-keys");
    auto all = of_server(RightsIn::one_namespace, driver);
    EXPECT_EQ(std::erase(all, only), 1U);
    EXPECT_EQ(all, of_server(RightsIn::tenant, driver));
  }
}

TEST(RbacOfServe, MayDoWhatTheCommandsMayWhoseWorkItDoes) {
  for (const ClusterDriver driver : {ClusterDriver::pod, ClusterDriver::claim}) {
    const auto server = of_server(RightsIn::tenant, driver);
    for (const char* command : {"up", "ps", "stop", "start", "extend", "rm", "token", "forward"}) {
      for (const ApiRule& rule : rules({command}, driver)) {
        // Not every client's method has a verb there, and the ways before it suffice.
        if (rule.resource == "pods/proxy") continue;
        for (const std::string& verb : rule.verbs) {
          EXPECT_TRUE(allows(server, rule.resource, verb)) << command << " " << verb << " " << rule.resource;
        }
      }
    }
  }
}

TEST(RbacOfServe, MayNotLookAroundNorChangeWhatIsNotItsOwn) {
  for (const ClusterDriver driver : {ClusterDriver::pod, ClusterDriver::claim}) {
    const auto server = of_server(RightsIn::tenant, driver);
    EXPECT_FALSE(allows(server, "pods/proxy", "get"));
    EXPECT_FALSE(allows(server, "pods/exec", "create"));
    EXPECT_FALSE(allows(server, "secrets", "list"));
    EXPECT_FALSE(allows(server, "secrets", "patch"));
    EXPECT_FALSE(allows(server, "secrets", "delete"));
    EXPECT_FALSE(allows(server, "namespaces", "create"));
    for (const ApiRule& rule : server) {
      if (rule.resource == "secrets") EXPECT_TRUE(rule.name == "skiff-signing-key" || !rule.verbs.contains("get"));
    }
  }
}

/// The right that the sender of a request needs: an `ApiRule` with one verb. Its name is that of the object.
ApiRule right_of(const fakes::FakeRequest& request) {
  std::vector<std::string> parts;
  for (std::size_t at = 1; at <= request.path.size();) {
    const std::size_t end = std::min(request.path.find('/', at), request.path.size());
    parts.push_back(request.path.substr(at, end - at));
    at = end + 1;
  }
  ApiRule right;
  const bool is_core = parts.at(0) == "api";
  if (!is_core) right.group = parts.at(1);
  parts.erase(parts.begin(), parts.begin() + (is_core ? 2 : 3));
  // A namespace itself, or what is in it.
  if (parts.size() > 2) parts.erase(parts.begin(), parts.begin() + 2);
  right.resource = parts.at(0) + (parts.size() > 2 ? "/" + parts[2] : "");
  if (parts.size() > 1) right.name = parts[1];
  const std::map<std::string, std::string> verbs{
      {"POST", "create"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
  if (const auto verb = verbs.find(request.method); verb != verbs.end()) {
    right.verbs = {verb->second};
  } else {
    right.verbs = {request.is_watch() ? "watch" : right.name.empty() ? "list" : "get"};
  }
  return right;
}

bool covers(const std::vector<ApiRule>& rules, const ApiRule& right) {
  return std::ranges::any_of(rules, [&](const ApiRule& rule) {
    return rule.group == right.group && rule.resource == right.resource &&
           (rule.name.empty() || rule.name == right.name) && rule.verbs.contains(*right.verbs.begin());
  });
}

CO_TEST(RbacOfServe, SufficesForEachRequestOfASandboxsLife, fakes::FakeCluster& fake) {
  PodDriver driver{fake.cluster.get(), fakes::through_the_proxy()};
  SandboxSpec spec = fakes::plain_spec("box");
  spec.pod.volumes = {"1Gi:/data"};
  spec.pod.network = "deny";
  spec.pod.ports = {"8000"};
  spec.lease.ttl = std::chrono::seconds{60};
  const auto up = co_await driver.create(std::move(spec), fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_TRUE(co_await driver.get("box"));
  EXPECT_TRUE(co_await driver.list({}));
  EXPECT_TRUE(co_await driver.extend("box", {.ttl = std::chrono::seconds{90}}, std::chrono::seconds{5}));
  EXPECT_TRUE(co_await driver.stop("box", {}));
  EXPECT_TRUE(co_await driver.start("box", std::chrono::seconds{5}, fakes::ignore_progress));
  EXPECT_TRUE(co_await driver.remove("box", {}));
  std::set<std::string> kinds;
  const auto server = of_server(RightsIn::tenant);
  for (const fakes::FakeRequest& request : fake.server.requests()) {
    const ApiRule right = right_of(request);
    // The way of these tests to agents.
    if (right.resource == "pods/proxy") continue;
    kinds.insert(right.resource);
    EXPECT_TRUE(covers(server, right)) << request.method << " " << request.path;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"configmaps", "namespaces", "networkpolicies", "persistentvolumeclaims",
                                          "pods", "secrets", "services"}));
  co_await driver.close();
}

TEST(Rbac, RefusesWhatIsNoCommand) {
  const auto refused = rules_of({.commands = {"run", "walk"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_field);
  EXPECT_NE(refused.error().message.find("\"walk\""), std::string::npos);
}

TEST(RoleObjects, AreARoleAloneOrWithWhoHasIt) {
  const auto alone = role_objects(rules({"ps"}), {.namespace_name = "a"});
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0]["kind"], "Role");
  EXPECT_EQ(alone[0]["metadata"]["namespace"], "a");
  const auto bound = role_objects(rules({"ps"}), {.name = "look", .namespace_name = "a", .service_account = "bot"});
  ASSERT_EQ(bound.size(), 3U);
  EXPECT_EQ(bound[0]["kind"], "ServiceAccount");
  EXPECT_EQ(bound[2]["roleRef"]["name"], "look");
  EXPECT_EQ(bound[2]["subjects"][0]["name"], "bot");
  EXPECT_EQ(bound[2]["subjects"][0]["namespace"], "a");
}

TEST(RoleObjects, MayBeForSomebodyOfAnotherNamespace) {
  const auto objects = role_objects(
      rules({"ps"}), {.name = "look", .namespace_name = "a", .service_account = "bot", .account_namespace = "home"});
  ASSERT_EQ(objects.size(), 2U) << "the account is made where it is";
  EXPECT_EQ(objects[0]["metadata"]["namespace"], "a");
  EXPECT_EQ(objects[1]["metadata"]["namespace"], "a");
  EXPECT_EQ(objects[1]["subjects"][0]["namespace"], "home");
}

TEST(RoleObjects, AreOfTheClusterWhereTheyMustBe) {
  const auto rules = rules_of({.commands = {"up"}, .namespace_per_sandbox = true}).value();
  EXPECT_TRUE(allows(rules, "namespaces", "create"));
  const auto objects = role_objects(rules, {.namespace_name = "a", .all_namespaces = true, .service_account = "bot"});
  EXPECT_EQ(objects[1]["kind"], "ClusterRole");
  EXPECT_FALSE(objects[1]["metadata"].contains("namespace"));
  EXPECT_EQ(objects[2]["kind"], "ClusterRoleBinding");
  EXPECT_FALSE(objects[2]["metadata"].contains("namespace"));
  EXPECT_EQ(objects[2]["subjects"][0]["namespace"], "a");
}

TEST(MissingRight, IsToldFromOtherRefusals) {
  const Error missing{Errc::permission_denied,
                      "list pods of a: pods is forbidden: User \"b\" cannot list resource \"pods\" in API group \"\""};
  EXPECT_EQ(with_right_hint(missing, "files ls"),
            missing.message + "; `skiff rbac files` prints the Role that allows it");
  const Error within{Errc::sandbox_not_running, "no way leads there: port-forward: " + missing.message};
  EXPECT_NE(with_right_hint(within, "exec").find("`skiff rbac exec`"), std::string::npos);
  const Error quota{Errc::permission_denied, "create pods a/b: pods \"b\" is forbidden: exceeded quota: small"};
  EXPECT_EQ(with_right_hint(quota, "up"), quota.message);
}

}  // namespace
}  // namespace skiff::container
