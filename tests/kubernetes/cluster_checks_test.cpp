// doctor examines a real control plane, and its advice helps.
#include "container/cluster/checks.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/async/deadline.hpp"
#include "container/kube/watch.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/kubernetes/roles.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using kube::Client;
using kube::Object;
using nlohmann::json;
using test::access_as;
using test::connect_as;
using test::create_namespace;
using test::fresh_name;

/// A text that is told when the check is missing, so that the test fails with it.
Check find(const std::vector<Check>& checks, std::string_view what) {
  const auto at = std::ranges::find(checks, what, &Check::what);
  return at != checks.end() ? *at : Check{.what = std::string{what}, .detail = "there is no such check"};
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

ClusterQuestions about(const std::string& namespace_name) {
  return {.namespace_name = namespace_name, .agent_image = "registry.test/skiffd:1"};
}

Object small_pod(const std::string& namespace_name) {
  Object pod = Object::make(kube::kPods, namespace_name, "trial");
  pod.json["spec"]["containers"] = json::array({{{"name", "a"}, {"image", "registry.test/a:1"}}});
  return pod;
}

/// The status of a quota is written by the controllers.
Task<> await_quota(Client* client, std::string namespace_name) {
  kube::Watch watch{client, {.resource = kube::kResourceQuotas, .namespace_name = std::move(namespace_name)}};
  for (;;) {
    auto event = co_await watch.next();
    CO_ASSERT_TRUE(event) << event.error().error.message;
    for (const Object& quota : event->objects) {
      if (!quota.texts({"status", "used"}).empty()) co_return;
    }
  }
}

/// A new namespace gets its service account from the controllers, and takes no Pod before.
Task<> await_service_account(Client* client, std::string namespace_name) {
  constexpr kube::Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
  kube::Watch watch{client, {.resource = kServiceAccounts, .namespace_name = std::move(namespace_name)}};
  for (bool there = false; !there;) {
    auto event = co_await watch.next();
    CO_ASSERT_TRUE(event) << event.error().error.message;
    there = !event->objects.empty();
  }
}

CO_TEST(ClusterChecks, PassForWhoeverMayDoEverything) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  co_await await_service_account(&admin, place);
  ClusterQuestions questions = about(place);
  questions.trial = small_pod(place);
  const auto checks = co_await examine_cluster(&admin, std::move(questions));
  for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.detail;
  EXPECT_TRUE(find(checks, "API server").detail.starts_with("v1.34.4 at https://")) << checks[0].detail;
  EXPECT_EQ(find(checks, "namespace " + place).detail, "no Pod Security level");
  EXPECT_EQ(find(checks, "quota").detail, "none");
  EXPECT_EQ(find(checks, "way to agents").detail, "port-forward through the API server");
  EXPECT_TRUE(find(checks, "admission").passed);
}

CO_TEST(ClusterChecks, NameAClusterThatDoesNotAnswer) {
  kube::Access away = access_as("admin");
  away.server.port = 1;
  Client client = test::connect(executor, std::move(away), {.retry = {.attempts = 1}});
  const auto checks = co_await examine_cluster(&client, about("default"));
  CO_ASSERT_TRUE(checks.size() == 1);
  EXPECT_FALSE(checks[0].passed);
  EXPECT_TRUE(has(checks[0].remedy, "choose another cluster with --context")) << checks[0].remedy;
}

CO_TEST(ClusterChecks, TellSomebodyUnknownToLogIn) {
  Client client = connect_as(executor, "stranger");
  const auto checks = co_await examine_cluster(&client, about("default"));
  CO_ASSERT_TRUE(checks.size() == 1);
  EXPECT_TRUE(has(checks[0].remedy, "log in again")) << checks[0].remedy;
}

CO_TEST(ClusterChecks, ListWhatIsNotAllowedAndTheRoleThatTheyAdviseHelps) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  co_await await_service_account(&admin, place);
  const std::string user = fresh_name("user");
  Client client = test::connect_as_user(executor, user);
  ClusterQuestions questions = about(place);
  questions.trial = small_pod(place);
  auto checks = co_await examine_cluster(&client, std::move(questions));
  const Check missing = find(checks, "permissions");
  EXPECT_FALSE(missing.passed);
  EXPECT_TRUE(has(missing.detail, "not allowed in namespace " + place)) << missing.detail;
  EXPECT_TRUE(has(missing.detail, "create pods,")) << missing.detail;
  EXPECT_TRUE(has(missing.detail, "get secrets skiff-signing-key")) << missing.detail;
  EXPECT_TRUE(has(missing.remedy, "`skiff rbac | kubectl apply -n " + place + " -f -`")) << missing.remedy;
  const std::string role = "`skiff rbac | kubectl apply -n " + place + " -f -`";
  EXPECT_TRUE(has(find(checks, "admission").remedy, role)) << find(checks, "admission").remedy;
  const Check way = find(checks, "way to agents");
  EXPECT_FALSE(way.passed);
  EXPECT_TRUE(has(way.remedy, role) && has(way.remedy, "--url")) << way.remedy;
  EXPECT_TRUE(has(find(checks, "quota").detail, "not known"));
  EXPECT_TRUE(has(find(checks, "namespace " + place).detail, "not known"));

  const auto all = rules_of({}).value();
  co_await test::grant(&admin, all, place, user);
  checks = co_await examine_cluster(&client, about(place));
  for (const Check& check : checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.detail;
}

/// Waits until it may ask what it is allowed to do, or until it may not.
Task<> await_questions(Client* client, bool may_ask) {
  for (;;) {
    auto allowed = co_await client->allowed({.verb = "get", .resource = "pods", .namespace_name = "default"});
    if (allowed.has_value() == may_ask) co_return;
    co_await pause(std::chrono::milliseconds{10});
  }
}

CO_TEST(ClusterChecks, SayWhoHelpsSomebodyWhoMayNotEvenAsk) {
  constexpr kube::Resource kBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
                                     false};
  Client admin = connect_as(executor, "admin");
  Client client = test::connect_as_user(executor, fresh_name("user"));
  auto usual = co_await admin.get(kBindings, {}, "system:basic-user");
  CO_ASSERT_TRUE(usual) << usual.error().error.message;
  auto removed = co_await admin.remove(kBindings, {}, usual->name());
  CO_ASSERT_TRUE(removed) << removed.error().error.message;
  co_await await_questions(&client, false);
  const auto checks = co_await examine_cluster(&client, about("default"));
  usual->json["metadata"].erase("resourceVersion");
  usual->json["metadata"].erase("uid");
  auto again = co_await admin.create(kBindings, std::move(*usual));
  CO_ASSERT_TRUE(again) << again.error().error.message;
  co_await await_questions(&client, true);
  const Check unknown = find(checks, "permissions");
  EXPECT_FALSE(unknown.passed);
  EXPECT_TRUE(has(unknown.remedy, "selfsubjectaccessreviews")) << unknown.remedy;
}

CO_TEST(ClusterChecks, LeaveToTheMessageWhatOnlyThatClusterKnows) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  co_await await_service_account(&admin, place);
  Object range = Object::make({"", "v1", "limitranges", "LimitRange"}, place, "tiny");
  range.json["spec"]["limits"] = json::array({{{"type", "Container"}, {"max", {{"memory", "1Mi"}}}}});
  auto made = co_await admin.create({"", "v1", "limitranges", "LimitRange"}, std::move(range));
  CO_ASSERT_TRUE(made) << made.error().error.message;
  ClusterQuestions questions = about(place);
  questions.trial = small_pod(place);
  questions.trial->json["spec"]["containers"][0]["resources"]["limits"]["memory"] = "1Gi";
  const auto checks = co_await examine_cluster(&admin, std::move(questions));
  const Check refused = find(checks, "admission");
  EXPECT_TRUE(has(refused.detail, "maximum memory usage per Container is 1Mi")) << refused.detail;
  EXPECT_EQ(refused.remedy, "change what the message names");
}

CO_TEST(ClusterChecks, GoByTheProxyWherePortForwardIsNotAllowed) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  const std::string user = fresh_name("user");
  auto rules = rules_of({}).value();
  std::erase_if(rules, [](const ApiRule& rule) { return rule.resource == "pods/portforward"; });
  co_await test::grant(&admin, rules, place, user);
  Client client = test::connect_as_user(executor, user);
  const auto checks = co_await examine_cluster(&client, about(place));
  EXPECT_EQ(find(checks, "way to agents").detail, "proxy of the API server");
  EXPECT_TRUE(has(find(checks, "permissions").detail, "create pods/portforward, get pods/portforward"));
}

CO_TEST(ClusterChecks, NameANamespaceThatIsMissingOrGoing) {
  Client admin = connect_as(executor, "admin");
  const std::string nowhere = fresh_name("nowhere");
  auto checks = co_await examine_cluster(&admin, about(nowhere));
  Check check = find(checks, "namespace " + nowhere);
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(has(check.remedy, "`kubectl create namespace " + nowhere + "`")) << check.remedy;

  const std::string going = co_await create_namespace(&admin);
  Object holder = test::config_map(going, "holder", "");
  holder.json["metadata"]["finalizers"] = json::array({"test.skiff.dev/hold"});
  auto held = co_await admin.create(kube::kConfigMaps, std::move(holder));
  CO_ASSERT_TRUE(held) << held.error().error.message;
  auto removed = co_await admin.remove(kube::kNamespaces, {}, going);
  CO_ASSERT_TRUE(removed) << removed.error().error.message;
  checks = co_await examine_cluster(&admin, about(going));
  check = find(checks, "namespace " + going);
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(has(check.detail, "being deleted")) << check.detail;
  EXPECT_TRUE(has(check.remedy, "create it again")) << check.remedy;
  json release{{"metadata", {{"finalizers", nullptr}}}};
  auto freed = co_await admin.patch(kube::kConfigMaps, going, "holder", kube::PatchKind::merge, std::move(release));
  EXPECT_TRUE(freed) << freed.error().error.message;
}

CO_TEST(ClusterChecks, SeeAQuotaThatIsUsedUpAndWhatIsLeftOfOthers) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  co_await await_service_account(&admin, place);
  Object quota = Object::make(kube::kResourceQuotas, place, "small");
  quota.json["spec"]["hard"] = {{"pods", "0"}, {"requests.memory", "1Gi"}, {"secrets", "0"}};
  auto made = co_await admin.create(kube::kResourceQuotas, std::move(quota));
  CO_ASSERT_TRUE(made) << made.error().error.message;
  co_await await_quota(&admin, place);
  ClusterQuestions questions = about(place);
  questions.trial = small_pod(place);
  const auto checks = co_await examine_cluster(&admin, std::move(questions));
  const Check used_up = find(checks, "quota");
  EXPECT_FALSE(used_up.passed);
  EXPECT_EQ(used_up.detail, "small: 0 of 0 pods");
  EXPECT_TRUE(has(used_up.remedy, "`skiff gc`")) << used_up.remedy;
  const Check refused = find(checks, "admission");
  EXPECT_FALSE(refused.passed);
  EXPECT_TRUE(has(refused.remedy, "ResourceQuota raised")) << refused.detail << "; " << refused.remedy;
}

CO_TEST(ClusterChecks, ShowTheLevelOfPodSecurityAndWhatItRefuses) {
  Client admin = connect_as(executor, "admin");
  const std::string place = co_await create_namespace(&admin);
  co_await await_service_account(&admin, place);
  json label{{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}};
  auto labelled = co_await admin.patch(kube::kNamespaces, {}, place, kube::PatchKind::merge, std::move(label));
  CO_ASSERT_TRUE(labelled) << labelled.error().error.message;
  ClusterQuestions questions = about(place);
  questions.trial = small_pod(place);
  const auto checks = co_await examine_cluster(&admin, std::move(questions));
  EXPECT_EQ(find(checks, "namespace " + place).detail, "Pod Security level restricted");
  const Check refused = find(checks, "admission");
  EXPECT_FALSE(refused.passed);
  EXPECT_TRUE(has(refused.remedy, "--run-as")) << refused.detail << "; " << refused.remedy;
}

constexpr kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                      "CustomResourceDefinition", false};
constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};

/// A kind of agent-sandbox, as far as skiff looks at its definition.
Object definition(const kube::Resource& kind) {
  Object object = Object::make(kDefinitions, {}, kind.name());
  json version{{"name", kind.version}, {"served", true}, {"storage", true}};
  version["schema"]["openAPIV3Schema"] = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  object.json["spec"] = {{"group", kind.group},
                         {"scope", "Namespaced"},
                         {"names", {{"plural", kind.plural}, {"kind", kind.kind}}},
                         {"versions", json::array({std::move(version)})}};
  // Groups below k8s.io are protected (KEP 1111).
  object.json["metadata"]["annotations"]["api-approved.kubernetes.io"] = "unapproved, a test";
  return object;
}

Object idle_controller() {
  const json labels{{"app", "controller"}};
  Object object = Object::make(kDeployments, "agent-sandbox-system", "agent-sandbox-controller");
  json container{{"name", "a"}, {"image", "registry.test/controller:v0.2.1"}};
  object.json["spec"] = {{"selector", {{"matchLabels", labels}}},
                         {"template", {{"metadata", {{"labels", labels}}}, {"spec", json::object()}}}};
  object.json["spec"]["template"]["spec"]["containers"] = json::array({std::move(container)});
  return object;
}

/// Until it is served.
Task<> define(Client* admin, kube::Resource kind) {
  auto defined = co_await admin->create(kDefinitions, definition(kind));
  CO_ASSERT_TRUE(defined) << defined.error().error.message;
  for (bool served = false; !served;) {
    auto known = co_await admin->serves(kind);
    CO_ASSERT_TRUE(known) << known.error().error.message;
    served = *known;
    co_await pause(std::chrono::milliseconds{10});
  }
}

CO_TEST(ClusterChecks, LookForAgentSandboxAndItsController) {
  Client admin = connect_as(executor, "admin");
  ClusterQuestions questions = about("default");
  auto checks = co_await examine_cluster(&admin, questions);
  EXPECT_TRUE(find(checks, "agent-sandbox").passed) << "the driver `pod` does without it";
  questions.driver = ClusterDriver::claim;
  checks = co_await examine_cluster(&admin, questions);
  EXPECT_FALSE(find(checks, "agent-sandbox").passed);
  EXPECT_TRUE(has(find(checks, "agent-sandbox").remedy, "--driver pod"));

  co_await define(&admin, kube::kSandboxes);
  checks = co_await examine_cluster(&admin, questions);
  EXPECT_TRUE(has(find(checks, "agent-sandbox").remedy, "extensions.yaml")) << find(checks, "agent-sandbox").detail;
  co_await define(&admin, kube::kSandboxClaims.at("v1alpha1"));
  Object system = Object::make(kube::kNamespaces, {}, "agent-sandbox-system");
  auto made = co_await admin.create(kube::kNamespaces, std::move(system));
  CO_ASSERT_TRUE(made) << made.error().error.message;
  made = co_await admin.create(kDeployments, idle_controller());
  CO_ASSERT_TRUE(made) << made.error().error.message;
  checks = co_await examine_cluster(&admin, questions);
  EXPECT_EQ(find(checks, "agent-sandbox").detail, "SandboxClaims v1alpha1");
  EXPECT_EQ(find(checks, "router").detail, "none; agents are reached without it");
  const Check controller = find(checks, "agent-sandbox controller");
  EXPECT_FALSE(controller.passed);
  EXPECT_EQ(controller.detail, "registry.test/controller:v0.2.1, of which no replica is available");
  EXPECT_TRUE(has(controller.remedy, "describe deployment agent-sandbox-controller")) << controller.remedy;

  for (const auto& [resource, name] :
       {std::pair{kDefinitions, kube::kSandboxClaims.name()}, std::pair{kDefinitions, kube::kSandboxes.name()},
        std::pair{kube::kNamespaces, std::string{"agent-sandbox-system"}}}) {
    auto removed = co_await admin.remove(resource, {}, name);
    EXPECT_TRUE(removed) << removed.error().error.message;
  }
}

CO_TEST(ClusterChecks, WantAnImageOfTheAgentUnlessImagesBringIt) {
  Client admin = connect_as(executor, "admin");
  auto checks = co_await examine_cluster(&admin, {.namespace_name = "default"});
  EXPECT_FALSE(find(checks, "agent image").passed);
  EXPECT_TRUE(has(find(checks, "agent image").remedy, "--agent-image"));
  checks = co_await examine_cluster(&admin, {.namespace_name = "default", .inject = false});
  EXPECT_TRUE(find(checks, "agent image").passed);
}

}  // namespace
}  // namespace skiff::container
