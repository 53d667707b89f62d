#include "container/cluster/egress/sandbox_parts.hpp"

#include <nlohmann/json.hpp>

#include "protocol/net/trust/program_trust.hpp"

namespace skiff::container {
namespace {

constexpr const char* kTrustDirectory = "/.skiff";
constexpr const char* kTrustVolume = "skiff-trust";

}  // namespace

void add_egress_variables(const SandboxSpec& spec, const EgressAccess& access,
                          std::map<std::string, std::string>& environment) {
  if (!spec.has_egress()) return;
  environment["SKIFF_EGRESS"] = access.proxy;
  environment["SKIFF_EGRESS_CANARY"] = access.canary;
  environment["SKIFF_EGRESS_TOKEN"] = access.token;
  if (spec.egress_secrets.empty()) return;
  environment["SKIFF_EGRESS_TRUST"] = kTrustDirectory;
  environment["SKIFF_EGRESS_CA"] = access.ca_pem;
  // Variables of the image are replaced: with its own certificates alone a program reaches no host of a secret.
  protocol::add_trust_variables(kTrustDirectory, environment);
  // A request has the credential already, or none: there is nobody to ask.
  environment.try_emplace("GIT_TERMINAL_PROMPT", "0");
  environment.try_emplace("NODE_USE_ENV_PROXY", "1");
}

void add_egress_volume(const SandboxSpec& spec, nlohmann::json& volumes, nlohmann::json& mounts) {
  if (spec.egress_secrets.empty()) return;
  volumes.push_back({{"name", kTrustVolume}, {"emptyDir", nlohmann::json::object()}});
  mounts.push_back({{"name", kTrustVolume}, {"mountPath", kTrustDirectory}});
}

void put_egress(const SandboxSpec& spec, const EgressAccess& access, kube::Object& pod) {
  if (!spec.has_egress()) return;
  nlohmann::json& annotations = pod.json["metadata"]["annotations"];
  annotations[kEgressAnnotation] = nlohmann::json(spec.egress).dump();
  if (!spec.egress_secrets.empty()) annotations[kEgressSecretsAnnotation] = access.secrets;
  pod.json["spec"]["dnsPolicy"] = "None";
  // The agent answers there. A name with a dot in it is a whole one.
  pod.json["spec"]["dnsConfig"] = {
      {"nameservers", nlohmann::json::array({"127.0.0.1"})},
      {"options", nlohmann::json::array({nlohmann::json{{"name", "ndots"}, {"value", "1"}}})}};
}

}  // namespace skiff::container
