#include "container/cluster/rbac.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "container/cli/command.hpp"

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
      if (command == "key") continue;
      for (const ApiRule& rule : rules({std::string{command}}, driver)) {
        for (const std::string& verb : rule.verbs) EXPECT_TRUE(allows(all, rule.resource, verb)) << command;
      }
    }
  }
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
