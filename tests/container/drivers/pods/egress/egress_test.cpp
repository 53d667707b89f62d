#include "container/drivers/pods/egress/egress.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/agent/egress_token.hpp"
#include "container/drivers/pods/egress/secrets.hpp"
#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::DrivenCluster;

SandboxSpec named(std::vector<std::string> rules = {"PyPI.org", "files.example.com:8443", "pypi.org"}) {
  SandboxSpec spec = fakes::plain_spec("box");
  spec.egress = std::move(rules);
  return spec;
}

Task<std::string> install(DrivenCluster* on) {
  auto key = co_await on->fake.cluster->signing_key(true);
  kube::Object notice = kube::Object::make(kube::kConfigMaps, "default", kEgressName);
  notice.json["data"] = {
      {"proxy", "10.96.0.9:3128"}, {"canary", "10.96.0.9:3129"}, {"public.pem", key->public_pem().value()}};
  on->fake.server.put(kube::kConfigMaps, std::move(notice));
  co_return key->public_pem().value();
}

std::string variable(const kube::Object& pod, std::string_view name) {
  const auto& all = pod.json["spec"]["containers"][0]["env"];
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one["name"] == name; });
  return found == all.end() ? "" : (*found)["value"].get<std::string>();
}

CO_TEST(PodEgress, NeedsTheProxyOfItsNamespace, DrivenCluster& on) {
  const auto refused = co_await on.driver.create(named(), fakes::ignore_progress);
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().field, "egress_not_installed");
  EXPECT_TRUE(refused.error().message.contains("skiff egress install")) << refused.error().message;
  EXPECT_EQ(on.record_says("pod"), "there is no record");
  EXPECT_FALSE(co_await on.driver.offers_egress());
  co_await install(&on);
  EXPECT_TRUE(co_await on.driver.offers_egress());
}

CO_TEST(PodEgress, MakesAFencedPodWithItsRulesAndItsCredential, DrivenCluster& on) {
  const std::string pem = co_await install(&on);
  const auto made = co_await on.driver.create(named(), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->details.at("network"), "egress by name: files.example.com:8443 pypi.org");
  const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->label("skiff.dev/network"), "egress");
  EXPECT_EQ(pod->annotation("skiff.dev/egress"), R"(["files.example.com:8443","pypi.org"])");
  EXPECT_EQ(pod->text({"spec", "dnsPolicy"}), "None");
  EXPECT_EQ(pod->json["spec"]["dnsConfig"].dump(),
            R"({"nameservers":["127.0.0.1"],"options":[{"name":"ndots","value":"1"}]})");
  EXPECT_EQ(pod->json["spec"]["securityContext"]["sysctls"].dump(),
            R"([{"name":"net.ipv4.ip_unprivileged_port_start","value":"0"}])");
  EXPECT_EQ(variable(*pod, "SKIFF_EGRESS"), "10.96.0.9:3128");
  EXPECT_EQ(variable(*pod, "SKIFF_EGRESS_CANARY"), "10.96.0.9:3129");
  EXPECT_EQ(EgressKeys::parse_pems(pem).value().sandbox_of(variable(*pod, "SKIFF_EGRESS_TOKEN")), made->id);
  const auto fence = on.fake.server.find(kube::kNetworkPolicies, "default", "skiff-network-egress");
  CO_ASSERT_TRUE(fence.has_value());
  EXPECT_EQ(fence->json["spec"]["egress"].size(), 1U);
  EXPECT_LT(on.place_of("PATCH", "/networkpolicies/skiff-network-egress"), on.place_of("POST", "/services"));
  EXPECT_LT(on.place_of("PATCH", "/networkpolicies/skiff-network-egress-agent"),
            on.place_of("PATCH", "/networkpolicies/skiff-network-egress"))
      << "the way in is never open as a whole";
}

CO_TEST(PodEgress, MakesAPodThatTrustsTheAuthoritiesOfItsSecrets, DrivenCluster& on) {
  co_await install(&on);
  on.fake.server.put(kube::kNamespaces, kube::Object::make(kube::kNamespaces, {}, "default-egress"));
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), {.name = "github",
                                                                     .hosts = {"github.com"},
                                                                     .header = "Authorization",
                                                                     .format = "Bearer {}",
                                                                     .value = "0123456789"}))
                     .has_value());
  SandboxSpec spec = fakes::plain_spec("box");
  spec.egress_secrets = {"github"};
  spec.env = {{"PIP_CERT", "/mine.pem"}};
  const auto made = co_await on.driver.create(spec, fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->details.at("network"), "egress by name: github.com; secret github");
  const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->label("skiff.dev/network"), "egress");
  EXPECT_EQ(pod->annotation("skiff.dev/egress"), R"(["github.com"])");
  EXPECT_EQ(pod->annotation("skiff.dev/egress-secrets"), R"({"github":["github.com"]})");
  const auto notice = on.fake.server.find(kube::kConfigMaps, "default", "skiff-secret.github");
  EXPECT_EQ(variable(*pod, "SKIFF_EGRESS_CA"), notice->text({"data", "ca.pem"}));
  EXPECT_EQ(variable(*pod, "SKIFF_EGRESS_TRUST"), "/.skiff");
  EXPECT_EQ(variable(*pod, "SSL_CERT_FILE"), "/.skiff/ca-bundle.pem");
  EXPECT_EQ(variable(*pod, "PIP_CERT"), "/mine.pem");
  EXPECT_FALSE(pod->json.dump().contains("0123456789"));
  // A start reads them again; the record has their names.
  EXPECT_EQ(on.record_says("egress_secrets"), R"(["github"])");
  CO_ASSERT_TRUE((co_await remove_egress_secret(on.fake.cluster.get(), "github")).has_value());
  CO_ASSERT_TRUE((co_await on.driver.stop("box", {})).has_value());
  const auto refused = co_await on.driver.start("box", std::chrono::milliseconds{1000}, fakes::ignore_progress);
  CO_ASSERT_TRUE(!refused);
  EXPECT_TRUE(refused.error().message.contains("not found")) << refused.error().message;
}

CO_TEST(PodEgress, MakesNothingWithoutTheSecret, DrivenCluster& on) {
  co_await install(&on);
  SandboxSpec spec = fakes::plain_spec("box");
  spec.egress_secrets = {"github"};
  const auto refused = co_await on.driver.create(spec, fakes::ignore_progress);
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(on.record_says("pod"), "there is no record");
  EXPECT_FALSE((co_await on.driver.manifest(spec, false)).has_value());
}

CO_TEST(PodEgress, SaysWhatAPodThatIsNeverReadyMayWaitFor, DrivenCluster& on) {
  co_await install(&on);
  on.fake.server.runs_pods = false;
  SandboxSpec spec = named();
  spec.wait = std::chrono::milliseconds{300};
  const auto refused = co_await on.driver.create(std::move(spec), fakes::ignore_progress);
  CO_ASSERT_TRUE(!refused);
  EXPECT_TRUE(refused.error().message.contains("skiff doctor --egress")) << refused.error().message;
}

CO_TEST(PodEgress, NeedsAProxyThatKnowsTheKey, DrivenCluster& on) {
  co_await install(&on);
  on.fake.server.change(kube::kConfigMaps, "default", kEgressName,
                        [](auto& notice) { notice["data"]["public.pem"] = "another"; });
  const auto refused = co_await on.driver.create(named(), fakes::ignore_progress);
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().field, "egress_not_installed");
  EXPECT_EQ(on.record_says("pod"), "there is no record") << "what was made is taken back";
}

CO_TEST(PodEgress, StandsBesideNothingThatOpensTheFence, DrivenCluster& on) {
  co_await install(&on);
  const std::vector<std::function<void(SandboxSpec&)>> changes{
      [](SandboxSpec& spec) { spec.pod.network = "deny"; },
      [](SandboxSpec& spec) { spec.names_network = true; },
      [](SandboxSpec& spec) { spec.pod.allow = {"203.0.113.7/32"}; },
      [](SandboxSpec& spec) { spec.pod.ports = {"8080"}; },
      [](SandboxSpec& spec) { spec.pod.namespace_per_sandbox = true; },
      [](SandboxSpec& spec) { spec.egress = {"10.0.0.1"}; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SandboxSpec spec = named();
    changes[i](spec);
    const auto refused = co_await on.driver.create(std::move(spec), fakes::ignore_progress);
    CO_ASSERT_TRUE(!refused) << i;
    EXPECT_EQ(refused.error().code, Errc::invalid_field) << i << refused.error().message;
  }
  CO_ASSERT_TRUE((co_await on.driver.create(named(), fakes::ignore_progress)).has_value());
  const auto opened = co_await on.driver.set_network("box", "open", {});
  CO_ASSERT_TRUE(!opened);
  EXPECT_EQ(opened.error().code, Errc::invalid_field);
  EXPECT_FALSE((co_await on.driver.manifest(named(), false)).has_value());
}

CO_TEST(PodEgress, ItsDialectsAreLetInBeforeThereIsAPod, DrivenCluster& on) {
  co_await install(&on);
  SandboxSpec spec = named();
  spec.pod.dialects = {"e2b"};
  const auto made = co_await on.driver.create(std::move(spec), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto opened = on.place_of("PATCH", "/networkpolicies/skiff-network-egress-dialects");
  EXPECT_LT(on.place_of("PATCH", "/networkpolicies/skiff-network-egress"), opened);
  EXPECT_LT(opened, on.place_of("POST", "/services"));
}

CO_TEST(PodEgress, ReplacesTheRulesInRecordAndPod, DrivenCluster& on) {
  co_await install(&on);
  CO_ASSERT_TRUE((co_await on.driver.create(named(), fakes::ignore_progress)).has_value());
  const auto wrong = co_await on.driver.set_egress("box", {.rules = std::vector<std::string>{"10.0.0.1"}});
  EXPECT_FALSE(wrong.has_value());
  const auto changed = co_await on.driver.set_egress("box", {.rules = std::vector<std::string>{"Other.org"}});
  CO_ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_EQ(changed->rules, std::vector<std::string>{"other.org"});
  EXPECT_EQ(on.record_says("egress"), R"(["other.org"])");
  EXPECT_EQ(on.fake.server.find(kube::kPods, "default", "skiff-box")->annotation("skiff.dev/egress"),
            R"(["other.org"])");
  fakes::put_sandbox(on.fake.server, "plain", "s2");
  const auto none = co_await on.driver.set_egress("plain", {.rules = std::vector<std::string>{"other.org"}});
  CO_ASSERT_TRUE(!none);
  EXPECT_EQ(none.error().code, Errc::invalid_field);
}

CO_TEST(PodEgress, ChangesSingleRulesOfWhatIsThereNow, DrivenCluster& on) {
  co_await install(&on);
  CO_ASSERT_TRUE((co_await on.driver.create(named(), fakes::ignore_progress)).has_value());
  // Another client changes the record, and its Pod, between this one's reads and its write to the Pod.
  bool has_come = false;
  on.fake.server.before = [&](const fakes::FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (!request.is("PATCH", "/pods/skiff-box") || std::exchange(has_come, true)) return std::nullopt;
    on.fake.server.change(kube::kConfigMaps, "default", "skiff-box",
                          [](nlohmann::json& record) { record["data"]["egress"] = R"(["newest.org"])"; });
    on.fake.server.change(kube::kPods, "default", "skiff-box",
                          [](nlohmann::json& pod) { pod["metadata"]["annotations"]["test/of"] = "another"; });
    return std::nullopt;
  };
  const auto changed = co_await on.driver.set_egress("box", {.added = {"New.org"}, .removed = {"pypi.org"}});
  CO_ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_TRUE(has_come);
  EXPECT_EQ(changed->rules, (std::vector<std::string>{"files.example.com:8443", "new.org"}));
  EXPECT_EQ(on.fake.server.find(kube::kPods, "default", "skiff-box")->annotation("skiff.dev/egress"),
            R"(["newest.org"])");
  const auto absent = co_await on.driver.set_egress("box", {.removed = {"pypi.org"}});
  CO_ASSERT_TRUE(!absent);
  EXPECT_TRUE(absent.error().message.contains("the rules are: newest.org")) << absent.error().message;
}

CO_TEST(PodEgress, SaysThatTheProxyCannotReadTheRules, DrivenCluster& on) {
  co_await install(&on);
  CO_ASSERT_TRUE((co_await on.driver.create(named(), fakes::ignore_progress)).has_value());
  auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  pod->json["metadata"]["annotations"]["skiff.dev/egress"] = "not JSON";
  on.fake.server.put(kube::kPods, std::move(*pod));
  const auto state = co_await on.driver.set_egress("box", {});
  CO_ASSERT_TRUE(state.has_value());
  EXPECT_TRUE(state->is_unreadable);
}

CO_TEST(PodEgress, TheEndOfItsProcessesComesBeforeTheEndOfItsPod, DrivenCluster& on) {
  co_await install(&on);
  CO_ASSERT_TRUE((co_await on.driver.create(named(), fakes::ignore_progress)).has_value());
  CO_ASSERT_TRUE((co_await on.driver.remove("box", {.force = true})).has_value());
  const auto request = on.fake.server.last("DELETE", "/pods/skiff-box");
  EXPECT_EQ(request.body["gracePeriodSeconds"], 1);
}

CO_TEST(PodEgress, ReadsTheLinesAboutASandboxFromAllProxies, DrivenCluster& on) {
  co_await install(&on);
  const auto made = co_await on.driver.create(named(), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value());
  kube::Object proxy = kube::Object::make(kube::kPods, "default-egress", "skiff-egress-1");
  proxy.json["metadata"]["labels"]["app.kubernetes.io/name"] = kEgressName;
  on.fake.server.put(kube::kPods, std::move(proxy));
  const std::string line = R"({"id":")" + made->id + R"(","verdict":"allowed"})";
  on.fake.server.before = [&](const fakes::FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (!request.is("GET", "/pods/skiff-egress-1/log")) return std::nullopt;
    return fakes::FakeAnswer{.body = R"({"id":"other","detail":")" + made->id + "\"}\n" + line + "\nnot JSON " +
                                     made->id + "\n"};
  };
  const auto text = co_await on.driver.egress_log("box");
  CO_ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(*text, line + "\n");
}

}  // namespace
}  // namespace skiff::container
