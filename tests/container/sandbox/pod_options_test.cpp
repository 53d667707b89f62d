#include "container/sandbox/pod_options.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;

TEST(PodOptions, AreRightAsTheyAre) {
  EXPECT_TRUE(check_pod_options({}));
}

TEST(PodOptions, OneAmountIsRequestAndLimit) {
  const auto both = parse_amounts("250m:1", "--cpu").value();
  EXPECT_EQ(both.request, "250m");
  EXPECT_EQ(both.limit, "1");
  EXPECT_EQ(parse_amounts("1Gi", "--memory").value().limit, "1Gi");
  EXPECT_TRUE(parse_amounts("", "--disk").value().request.empty());
  for (const char* bad : {"x", "1:2:3", ":1", "1:", "-1", "1 Gi"}) {
    const auto refused = parse_amounts(bad, "--cpu");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().field, "--cpu");
  }
}

TEST(PodOptions, AThousandthOfAByteIsNoMemory) {
  for (const char* amount : {"512m", "256Mi:512m"}) {
    PodOptions options;
    options.memory = amount;
    const auto refused = check_pod_options(options);
    ASSERT_FALSE(refused) << amount;
    EXPECT_EQ(refused.error().field, "--memory");
  }
  PodOptions options;
  options.cpu = "250m";
  options.memory = "512M";
  EXPECT_TRUE(check_pod_options(options));
}

TEST(PodOptions, AVolumeHasASizeAndAnAbsolutePath) {
  const auto volume = parse_volume("10Gi:/data:fast").value();
  EXPECT_EQ(volume.size, "10Gi");
  EXPECT_EQ(volume.path, "/data");
  EXPECT_EQ(volume.storage_class, "fast");
  for (const char* bad : {"10Gi", "/data", "10Gi:data", "10Gi:/a:b:c"}) EXPECT_FALSE(parse_volume(bad)) << bad;
}

TEST(PodOptions, AVolumeMayBeWhatTheNamespaceHas) {
  EXPECT_EQ(parse_volume("10Gi:/data")->kind, Volume::Kind::own);
  const auto claim = parse_volume("shared-data:/data").value();
  EXPECT_EQ(claim.kind, Volume::Kind::claim);
  EXPECT_EQ(claim.name, "shared-data");
  EXPECT_EQ(parse_volume("secret/keys:/keys")->kind, Volume::Kind::secret);
  EXPECT_EQ(parse_volume("config/my.conf:/conf")->name, "my.conf");
  for (const char* bad : {"secret/:/keys", "other/keys:/keys", "Data:/data", "data:/data:fast", "secret/a/b:/c"}) {
    EXPECT_FALSE(parse_volume(bad)) << bad;
  }
}

TEST(PodOptions, VariablesComeFromSecretsAndConfigMaps) {
  EXPECT_EQ(parse_env_from("secret/keys").value(), (json{{"secretRef", {{"name", "keys"}}}}));
  EXPECT_EQ(parse_env_from("config/plain").value(), (json{{"configMapRef", {{"name", "plain"}}}}));
  for (const char* bad : {"", "keys", "secret/", "secret/A", "pod/keys"}) EXPECT_FALSE(parse_env_from(bad)) << bad;
}

TEST(PodOptions, ASeccompProfileIsTheRuntimesOrTheNodes) {
  EXPECT_EQ(parse_seccomp("RuntimeDefault").value(), (json{{"type", "RuntimeDefault"}}));
  EXPECT_EQ(parse_seccomp("Unconfined").value(), (json{{"type", "Unconfined"}}));
  EXPECT_EQ(parse_seccomp("Localhost/a/b.json").value(),
            (json{{"type", "Localhost"}, {"localhostProfile", "a/b.json"}}));
  for (const char* bad : {"", "Localhost", "Localhost/", "none"}) EXPECT_FALSE(parse_seccomp(bad)) << bad;
}

TEST(PodOptions, AnEntrypointIsSplitAsAShellDoesAndNotExpanded) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(parse_entrypoint("  python \t app.py ").value(), (Words{"python", "app.py"}));
  EXPECT_EQ(parse_entrypoint(R"(sh -c 'echo "$HOME" \n')").value(), (Words{"sh", "-c", R"(echo "$HOME" \n)"}));
  EXPECT_EQ(parse_entrypoint(R"("a b"'c d'e\ f "" \")").value(), (Words{"a bc de f", "", "\""}));
  EXPECT_EQ(parse_entrypoint(R"x("\"\\\n$(x)")x").value(), (Words{R"x("\\n$(x))x"}));
  EXPECT_EQ(parse_entrypoint("").value(), Words{});
  for (const char* bad : {"'", "a \"b", "it's"}) EXPECT_EQ(parse_entrypoint(bad).error().field, "--entrypoint") << bad;
}

TEST(PodOptions, AUserIsANumberOrTheImages) {
  EXPECT_FALSE(parse_run_as("image").value());
  const auto ids = parse_run_as("7:8").value();
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->user, 7U);
  EXPECT_EQ(ids->group, 8U);
  EXPECT_EQ(parse_run_as("7").value()->group, 7U);
  for (const char* bad : {"root", "1:2:3", "-1", ""}) EXPECT_FALSE(parse_run_as(bad)) << bad;
}

TEST(PodOptions, TolerationsAreWrittenAsTaintsAre) {
  EXPECT_EQ(parse_toleration("*").value(), (json{{"operator", "Exists"}}));
  EXPECT_EQ(parse_toleration("gpu").value(), (json{{"key", "gpu"}, {"operator", "Exists"}}));
  EXPECT_EQ(parse_toleration("gpu=a100:NoSchedule").value(),
            (json{{"key", "gpu"}, {"operator", "Equal"}, {"value", "a100"}, {"effect", "NoSchedule"}}));
  for (const char* bad : {"", "=a", "gpu:", "gpu:Whatever"}) EXPECT_FALSE(parse_toleration(bad)) << bad;
}

TEST(PodOptions, ANetworkIsOneOfFour) {
  for (const char* word : {"open", "deny", "dns"}) EXPECT_TRUE(parse_network(word).value().empty()) << word;
  EXPECT_EQ(parse_network("cidr=10.0.0.0/8,fd00::/8").value(), (std::vector<std::string>{"10.0.0.0/8", "fd00::/8"}));
  for (const char* bad :
       {"", "closed", "cidr=", "cidr=10.0.0.0", "cidr=10.0.0.0/33", "cidr=x/8", "cidr=fd00::/129", "cidr=[fd00::]/8"}) {
    EXPECT_FALSE(parse_network(bad)) << bad;
  }
}

TEST(PodOptions, WhatIsWrongIsToldByItsFlag) {
  const auto flag_of = [](PodOptions options) {
    const auto checked = check_pod_options(options);
    return checked ? std::string{} : checked.error().field;
  };
  EXPECT_EQ(flag_of({.ports = {"0"}}), "--port");
  EXPECT_EQ(flag_of({.ports = {"65536"}}), "--port");
  EXPECT_EQ(flag_of({.dialects = {"nope"}}), "--dialect");
  EXPECT_EQ(flag_of({.ports = {"8888"}, .dialects = {"python-runtime"}}), "--port");
  EXPECT_EQ(flag_of({.ports = {"08888"}, .dialects = {"python-runtime"}}), "--port");
  EXPECT_EQ(flag_of({.ports = {"8889"}, .dialects = {"python-runtime"}}), "");
  EXPECT_EQ(flag_of({.memory = "much"}), "--memory");
  EXPECT_EQ(flag_of({.ports = {"80", "7070"}}), "--port") << "the agent's own";
  EXPECT_EQ(flag_of({.ports = {"80", "7070"}, .agent_port = 8888}), "");
  EXPECT_EQ(flag_of({.agent_port = 0}), "--agent-port");
  EXPECT_EQ(flag_of({.wait_address = true}), "--wait-address");
  EXPECT_EQ(flag_of({.service = ServiceKind::loadbalancer, .wait_address = true}), "");
  EXPECT_EQ(flag_of({.workdir = "here"}), "--workdir");
  EXPECT_EQ(flag_of({.overrides = "[]"}), "--pod-overrides");
  EXPECT_EQ(flag_of({.overrides = "{"}), "--pod-overrides");
  EXPECT_EQ(flag_of({.env_from = {"keys"}}), "--env-from");
  EXPECT_EQ(flag_of({.seccomp = "no"}), "--seccomp");
  EXPECT_EQ(flag_of({.entrypoint = "'"}), "--entrypoint");
  EXPECT_EQ(flag_of({.quota = {"pods=3"}}), "--quota");
  EXPECT_EQ(flag_of({.namespace_per_sandbox = true, .quota = {"pods"}}), "--quota");
  EXPECT_EQ(flag_of({.namespace_per_sandbox = true, .quota = {"pods=3"}}), "");
}

TEST(PodOptions, NobodyFromOutsideReachesADialectUnlessHeIsNamed) {
  for (const ServiceKind kind : {ServiceKind::nodeport, ServiceKind::loadbalancer}) {
    PodOptions options{.dialects = {"kubebox"}, .service = kind};
    const auto refused = check_pod_options(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "--allow");
    options.allow = {"203.0.113.0/24"};
    EXPECT_TRUE(check_pod_options(options));
    EXPECT_TRUE(check_pod_options({.service = kind})) << "the agent itself asks for a token";
  }
  for (const ServiceKind kind : {ServiceKind::none, ServiceKind::clusterip, ServiceKind::headless}) {
    EXPECT_TRUE(check_pod_options({.dialects = {"kubebox"}, .service = kind}));
  }
}

TEST(PodOptions, ADriverWithoutPodsRefusesEachByItsFlag) {
  EXPECT_TRUE(refuse_pod_options({}, "local"));
  EXPECT_TRUE(refuse_pod_options({.dialects = {"sandboxd"}}, "local"));
  EXPECT_TRUE(refuse_pod_options({.agent_image = "a", .pull_policy = "Never"}, "local"));
  // As `up` calls them, which is not how they are kept.
  EXPECT_EQ(refuse_pod_options({.inject = false}, "local").error().field, "--no-inject");
  EXPECT_EQ(refuse_pod_options({.ports = {"80"}}, "local").error().field, "--port");
  EXPECT_EQ(refuse_pod_options({.volumes = {"1Gi:/data"}}, "local").error().field, "--volume");
  EXPECT_EQ(refuse_pod_options({.overrides = "{}"}, "local").error().field, "--pod-overrides");
  PodOptions short_lived;
  short_lived.deadline = std::chrono::hours{1};
  EXPECT_EQ(refuse_pod_options(short_lived, "local").error().field, "--deadline");
  EXPECT_EQ(refuse_pod_options({.network = "deny"}, "local").error().field, "--network");
  EXPECT_EQ(refuse_pod_options({.node_selector = {{"a", "b"}}}, "local").error().field, "--node-selector");
  EXPECT_EQ(refuse_pod_options({.namespace_per_sandbox = true}, "local").error().field, "--namespace-per-sandbox");
}

TEST(PodOptions, HaveNamesOfTheirOwnAndSayWhatTheyAre) {
  std::set<std::string_view> names;
  std::set<std::string_view> flags;
  for_each_pod_option([&](const auto& option) {
    EXPECT_TRUE(names.insert(option.json_name()).second) << option.name;
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    EXPECT_TRUE(option.help.ends_with('.')) << option.flag;
    EXPECT_TRUE(option.is_default({})) << option.flag;
    if (option.check != nullptr) EXPECT_TRUE(option.check(PodOptions{}.*option.member, "--flag")) << option.flag;
  });
  EXPECT_TRUE(names.contains("deadline_ms"));
  EXPECT_TRUE(flags.contains("pod-overrides"));
}

TEST(PodOptions, SurviveTheirJson) {
  PodOptions options{.ports = {"80"}, .service = ServiceKind::headless, .node_selector = {{"a", "b"}}};
  options.deadline = std::chrono::minutes{5};
  options.overrides = R"({"hostNetwork":true})";
  const std::string text = protocol::to_json(options);
  const auto again = protocol::decode<PodOptions>(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(protocol::to_json(*again), text);
}

}  // namespace
}  // namespace skiff::container
