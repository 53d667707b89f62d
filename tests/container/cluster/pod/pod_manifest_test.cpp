#include "container/cluster/pod/pod_manifest.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;

const ManifestContext kContext{.namespace_name = "ns", .sandbox_id = "s1", .public_key = "PEM"};

SandboxSpec box() {
  SandboxSpec spec{.name = "box", .image = "busybox", .owner = "ann"};
  spec.pod.agent_image = "skiffd:1";
  return spec;
}

json pod_of(const SandboxSpec& spec, const ManifestContext& context = kContext) {
  auto pod = create_pod(spec, context);
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message);
  return pod ? pod->json : json{};
}

std::string variable_of_pod(const json& pod, const std::string& name) {
  for (const json& one : pod["spec"]["containers"][0]["env"]) {
    if (one["name"] == name) return one.value("value", "");
  }
  return "(none)";
}

TEST(PodManifest, ThePodIsAsStrictAsTheRestrictedStandard) {
  const json spec = pod_of(box())["spec"];
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  EXPECT_EQ(spec["enableServiceLinks"], false);
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(spec["securityContext"]["runAsUser"], 1000);
  EXPECT_EQ(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  for (const char* list : {"containers", "initContainers"}) {
    ASSERT_TRUE(spec[list].is_array());
    const json& container = spec[list][0];
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
    EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], json::array({"ALL"}));
    EXPECT_EQ(container["resources"]["limits"]["memory"], "1Gi");
  }
  EXPECT_FALSE(spec["containers"][0].contains("livenessProbe"));
  EXPECT_EQ(spec["containers"][0]["readinessProbe"]["httpGet"]["path"], "/readyz");
}

TEST(PodManifest, WhatIsAFieldOfTheSpecIsThereUnlessItIsAsByDefault) {
  const json plain = pod_of(box())["spec"];
  for_each_pod_option([&](const auto& option) {
    if (!option.spec.empty()) EXPECT_FALSE(plain.contains(option.spec)) << option.spec;
  });
  SandboxSpec wanted = box();
  wanted.pod.runtime_class = "gvisor";
  wanted.pod.node_selector = {{"disk", "fast"}};
  wanted.pod.service_account = "builder";
  wanted.pod.deadline = std::chrono::milliseconds{1'500};
  const json spec = pod_of(wanted)["spec"];
  EXPECT_EQ(spec["runtimeClassName"], "gvisor");
  EXPECT_EQ(spec["nodeSelector"], (json{{"disk", "fast"}}));
  EXPECT_EQ(spec["serviceAccountName"], "builder");
  EXPECT_EQ(spec["activeDeadlineSeconds"], 2) << "whole seconds, and not fewer than were asked for";
}

TEST(PodManifest, SkiffdIsBroughtByAnInitContainer) {
  const json spec = pod_of(box())["spec"];
  EXPECT_EQ(spec["initContainers"][0]["image"], "skiffd:1");
  EXPECT_EQ(spec["initContainers"][0]["command"], json::array({"/skiffd", "install", "/skiff"}));
  EXPECT_EQ(spec["containers"][0]["command"], json::array({"/skiff/skiffd"}));
  SandboxSpec carries = box();
  carries.pod.inject = false;
  const json bare = pod_of(carries)["spec"];
  EXPECT_FALSE(bare.contains("initContainers"));
  EXPECT_FALSE(bare["containers"][0].contains("command"));
}

TEST(PodManifest, OnlyThePublicKeyGoesIntoThePod) {
  SandboxSpec spec = box();
  spec.env = {{"A", "b"}, {"SKIFF_PUBLIC_KEY", "mine"}};
  spec.lease.ttl = std::chrono::seconds{90};
  const json pod = pod_of(spec);
  EXPECT_EQ(variable_of_pod(pod, "A"), "b");
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_PUBLIC_KEY"), "PEM");
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_SANDBOX_ID"), "s1");
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_TTL"), "90000");
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_IDLE_TTL"), "(none)");
  EXPECT_FALSE(pod.dump().contains("PRIVATE"));
}

TEST(PodManifest, TheUserIsTheImagesOrTheNamespaces) {
  SandboxSpec spec = box();
  spec.pod.run_as = "image";
  EXPECT_FALSE(pod_of(spec)["spec"]["securityContext"].contains("runAsNonRoot"));
  ManifestContext openshift = kContext;
  openshift.assigns_ids = true;
  const json security = pod_of(box(), openshift)["spec"]["securityContext"];
  EXPECT_EQ(security["runAsNonRoot"], true);
  EXPECT_FALSE(security.contains("runAsUser"));
  EXPECT_FALSE(security.contains("fsGroup"));
}

TEST(PodManifest, AVolumeAtTheWorkdirTakesItsPlace) {
  SandboxSpec spec = box();
  spec.pod.volumes = {"1Gi:/workspace", "2Gi:/data:fast"};
  const json pod = pod_of(spec);
  std::vector<std::string> names;
  for (const json& volume : pod["spec"]["volumes"]) names.push_back(volume["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"volume-0", "volume-1", "skiff"}));
  const auto claims = create_volume_claims(spec, kContext).value();
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[1].name(), "skiff-box-vol-1");
  EXPECT_EQ(claims[1].text({"spec", "storageClassName"}), "fast");
  EXPECT_EQ(owned_objects(spec, "skiff-").size(), 2U);
}

TEST(PodManifest, WhatTheNamespaceHasIsMountedAndNotMade) {
  SandboxSpec spec = box();
  spec.pod.volumes = {"shared:/shared", "1Gi:/data", "secret/keys:/keys", "config/plain:/conf"};
  spec.pod.env_from = {"secret/keys", "config/plain"};
  spec.pod.seccomp = "Localhost/tight.json";
  const json made = pod_of(spec)["spec"];
  EXPECT_EQ(made["volumes"][0], (json{{"name", "volume-0"}, {"persistentVolumeClaim", {{"claimName", "shared"}}}}));
  EXPECT_EQ(made["volumes"][1]["persistentVolumeClaim"]["claimName"], "skiff-box-vol-1");
  EXPECT_EQ(made["volumes"][2], (json{{"name", "volume-2"}, {"secret", {{"secretName", "keys"}}}}));
  EXPECT_EQ(made["volumes"][3], (json{{"name", "volume-3"}, {"configMap", {{"name", "plain"}}}}));
  const json& container = made["containers"][0];
  EXPECT_EQ(container["volumeMounts"][2], (json{{"name", "volume-2"}, {"mountPath", "/keys"}, {"readOnly", true}}));
  EXPECT_EQ(container["envFrom"],
            json::array({{{"secretRef", {{"name", "keys"}}}}, {{"configMapRef", {{"name", "plain"}}}}}));
  EXPECT_EQ(made["securityContext"]["seccompProfile"],
            (json{{"type", "Localhost"}, {"localhostProfile", "tight.json"}}));
  const auto claims = create_volume_claims(spec, kContext).value();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].name(), "skiff-box-vol-1");
  ASSERT_EQ(owned_objects(spec, "skiff-").size(), 1U);
  EXPECT_EQ(owned_objects(spec, "skiff-")[0].second, "skiff-box-vol-1");
}

TEST(PodManifest, DialectsAreSpokenWhereTheirClientsLook) {
  SandboxSpec spec = box();
  spec.pod.dialects = {"python-runtime", "sandboxd"};
  spec.pod.ports = {"3000"};
  spec.env["SKIFF_DIALECT"] = "kubebox";
  const json pod = pod_of(spec);
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_DIALECT"), "python-runtime=[::]:8888,sandboxd=[::]:8080,[::]:9090");
  const json& ports = pod["spec"]["containers"][0]["ports"];
  EXPECT_EQ(ports, json::array({{{"name", "agent"}, {"containerPort", 7070}},
                                {{"name", "python-runtime"}, {"containerPort", 8888}},
                                {{"name", "sandboxd-rest"}, {"containerPort", 8080}},
                                {{"name", "sandboxd-grpc"}, {"containerPort", 9090}}}));
  EXPECT_FALSE(pod["spec"]["securityContext"].contains("sysctls"));
  std::vector<int> numbers;
  const auto service = create_service(spec, kContext).value();
  for (const json& port : service.json["spec"]["ports"]) numbers.push_back(port["port"]);
  EXPECT_EQ(numbers, (std::vector<int>{7070, 8888, 8080, 9090, 3000}));
  EXPECT_EQ(service.json["spec"]["ports"][1]["targetPort"], "python-runtime");
  EXPECT_EQ(variable_of_pod(pod_of(box()), "SKIFF_DIALECT"), "(none)");
}

/// The mount of the container at a path; null: none.
json mount_at(const json& pod, const std::string& path) {
  for (const json& mount : pod["spec"]["containers"][0]["volumeMounts"]) {
    if (mount["mountPath"] == path) return mount;
  }
  return {};
}

TEST(PodManifest, ProgramsOfE2bHaveTheirHomeDirectory) {
  SandboxSpec spec = box();
  EXPECT_TRUE(mount_at(pod_of(spec), "/home/user").is_null()) << "only clients of E2B name it";
  spec.pod.dialects = {"e2b"};
  const json pod = pod_of(spec);
  EXPECT_EQ(mount_at(pod, "/home/user"), (json{{"name", "home"}, {"mountPath", "/home/user"}}));
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_E2B_HOME"), "/home/user");
  EXPECT_EQ(variable_of_pod(pod, "HOME"), "/home/user");
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_ROOT"), "/workspace");
  spec.env["HOME"] = "/root";
  EXPECT_EQ(variable_of_pod(pod_of(spec), "HOME"), "/root");
}

TEST(PodManifest, TheHomeOfE2bIsKeptAsLongAsTheWorkspace) {
  SandboxSpec spec = box();
  spec.pod.dialects = {"e2b"};
  spec.pod.volumes = {"1Gi:/workspace"};
  const json workspace = mount_at(pod_of(spec), "/workspace");
  EXPECT_EQ(mount_at(pod_of(spec), "/home/user"),
            (json{{"name", workspace["name"]}, {"mountPath", "/home/user"}, {"subPath", "home"}}));
  spec.pod.volumes = {"1Gi:/home/user"};
  EXPECT_FALSE(mount_at(pod_of(spec), "/home/user").contains("subPath")) << "it has a volume of its own";
  spec.pod.volumes = {"1Gi:/data"};
  EXPECT_EQ(mount_at(pod_of(spec), "/home/user")["name"], "home");
}

TEST(PodManifest, AnOrdinaryUserMayTakeADialectsLowPort) {
  SandboxSpec spec = box();
  spec.pod.dialects = {"kubebox"};
  const json security = pod_of(spec)["spec"]["securityContext"];
  EXPECT_EQ(security["sysctls"], json::array({{{"name", "net.ipv4.ip_unprivileged_port_start"}, {"value", "80"}}}));
  EXPECT_EQ(security["runAsUser"], 1000);
}

TEST(PodManifest, ADialectThatIsNotKnownIsNotLeftOutInSilence) {
  SandboxSpec spec = box();
  spec.pod.dialects = {"of-a-newer-skiff"};
  const auto pod = create_pod(spec, kContext);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().field, "--dialect");
}

TEST(PodManifest, AnAgentMayListenElsewhere) {
  SandboxSpec spec = box();
  EXPECT_EQ(agent_port_of({pod_of(spec)}), kAgentPort);
  EXPECT_EQ(agent_port_of({json::object()}), kAgentPort);
  spec.pod.agent_port = 8888;
  spec.pod.ports = {"7070"};
  const json pod = pod_of(spec);
  EXPECT_EQ(agent_port_of({pod}), 8888);
  EXPECT_EQ(variable_of_pod(pod, "SKIFF_LISTEN"), "[::]:8888");
  const json ports = create_service(spec, kContext)->json["spec"]["ports"];
  EXPECT_EQ(ports[0], (json{{"name", "agent"}, {"port", 8888}, {"targetPort", "agent"}}));
  EXPECT_EQ(ports[1]["port"], 7070);
}

TEST(PodManifest, TheServiceSelectsThisSandbox) {
  SandboxSpec spec = box();
  spec.pod.ports = {"8000"};
  const auto service = create_service(spec, kContext).value();
  EXPECT_EQ(service.name(), "skiff-box-svc");
  EXPECT_EQ(service.json["spec"]["selector"], (json{{"skiff.dev/sandbox", "s1"}}));
  ASSERT_EQ(service.json["spec"]["ports"].size(), 2U);
  EXPECT_EQ(service.json["spec"]["ports"][1]["port"], 8000);
  spec.pod.service = ServiceKind::headless;
  EXPECT_EQ(create_service(spec, kContext)->text({"spec", "clusterIP"}), "None");
  spec.pod.service = ServiceKind::none;
  EXPECT_FALSE(create_service(spec, kContext));
}

TEST(PodManifest, AServiceInsideTheClusterHasAnAddressOfEachFamily) {
  SandboxSpec spec = box();
  for (const ServiceKind kind : {ServiceKind::clusterip, ServiceKind::headless}) {
    spec.pod.service = kind;
    EXPECT_EQ(create_service(spec, kContext)->text({"spec", "ipFamilyPolicy"}), "PreferDualStack");
  }
  for (const ServiceKind kind : {ServiceKind::nodeport, ServiceKind::loadbalancer}) {
    spec.pod.service = kind;
    EXPECT_EQ(create_service(spec, kContext)->find({"spec", "ipFamilyPolicy"}), nullptr)
        << "nobody has asked for a second address that can be reached from outside";
  }
}

TEST(PodManifest, AServiceThatFewMayReachKeepsTheAddressesOfItsClients) {
  SandboxSpec spec = box();
  spec.pod.service = ServiceKind::loadbalancer;
  EXPECT_EQ(create_service(spec, kContext)->find({"spec", "externalTrafficPolicy"}), nullptr);
  spec.pod.allow = {"203.0.113.7/32"};
  const auto balanced = create_service(spec, kContext).value();
  EXPECT_EQ(balanced.text({"spec", "externalTrafficPolicy"}), "Local");
  EXPECT_EQ(balanced.json["spec"]["loadBalancerSourceRanges"], json::array({"203.0.113.7/32"}));
  spec.pod.service = ServiceKind::nodeport;
  const auto by_node = create_service(spec, kContext).value();
  EXPECT_EQ(by_node.text({"spec", "externalTrafficPolicy"}), "Local");
  EXPECT_EQ(by_node.find({"spec", "loadBalancerSourceRanges"}), nullptr) << "the API server refuses it there";
  spec.pod.service = ServiceKind::clusterip;
  EXPECT_EQ(create_service(spec, kContext)->find({"spec", "externalTrafficPolicy"}), nullptr);
  // For everybody again: the patch takes both back.
  EXPECT_EQ(service_exposure({.service = ServiceKind::loadbalancer}),
            (json{{"externalTrafficPolicy", "Cluster"}, {"loadBalancerSourceRanges", json{}}}));
}

TEST(PodManifest, OverridesAreMergedDeep) {
  SandboxSpec spec = box();
  spec.pod.overrides = R"({"hostAliases": [{"ip": "1.2.3.4"}], "enableServiceLinks": null,
    "containers": [{"name": "sandbox", "tty": true}, {"name": "beside", "image": "x"}]})";
  const json made = pod_of(spec)["spec"];
  ASSERT_EQ(made["containers"].size(), 2U);
  EXPECT_EQ(made["containers"][0]["tty"], true);
  EXPECT_EQ(made["containers"][0]["image"], "busybox");
  EXPECT_EQ(made["containers"][1]["name"], "beside");
  EXPECT_EQ(made["hostAliases"][0]["ip"], "1.2.3.4");
  EXPECT_FALSE(made.contains("enableServiceLinks"));
}

TEST(PodManifest, OverridesAddInitContainersBehindOurs) {
  SandboxSpec spec = box();
  spec.pod.overrides = R"({"initContainers": [{"name": "seed", "image": "busybox"}]})";
  const json made = pod_of(spec)["spec"]["initContainers"];
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0]["name"], "skiff");
  EXPECT_EQ(made[1]["name"], "seed");
}

TEST(PodManifest, OverridesKnowMountsByTheirPaths) {
  SandboxSpec spec = box();
  spec.pod.overrides = R"({"volumes": [{"name": "data", "emptyDir": {}}],
    "containers": [{"name": "sandbox", "volumeMounts": [{"name": "data", "mountPath": "/a", "subPath": "a"},
      {"name": "data", "mountPath": "/b", "subPath": "b"}, {"mountPath": "/workspace", "name": "data"}]}]})";
  const json made = pod_of(spec)["spec"];
  const json& mounts = made["containers"][0]["volumeMounts"];
  std::map<std::string, std::string> by_path;
  for (const json& mount : mounts) by_path[mount["mountPath"]] = mount["name"];
  EXPECT_EQ(by_path, (std::map<std::string, std::string>{
                         {"/workspace", "data"}, {"/skiff", "skiff"}, {"/a", "data"}, {"/b", "data"}}));
  EXPECT_EQ(mounts.size(), 4U);
}

TEST(PodManifest, AWorkloadRunsBesideTheAgent) {
  SandboxSpec spec = box();
  spec.pod.entrypoint = "python  -c 'print(1, 2)'";
  EXPECT_EQ(pod_of(spec)["spec"]["containers"][0]["args"], json::array({"--", "python", "-c", "print(1, 2)"}));
}

TEST(PodManifest, ANamespaceOfItsOwnHasAQuota) {
  SandboxSpec spec = box();
  spec.pod.namespace_per_sandbox = true;
  spec.pod.quota = {"limits.cpu=4", "pods=10"};
  EXPECT_EQ(create_quota(spec, kContext).value()->json["spec"]["hard"], (json{{"limits.cpu", "4"}, {"pods", "10"}}));
}

}  // namespace
}  // namespace skiff::container
