#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/sandbox/dialects.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// Default port of the agent in its Pod.
inline constexpr std::uint16_t kAgentPort = 7070;

/// Kind of the Service by which a sandbox is reached by name (Service.spec.type; headless: without an address of its
/// own).
enum class ServiceKind : std::uint8_t { none, clusterip, headless, nodeport, loadbalancer };

/// A request and a limit from "100m:1"; without a colon both are the same.
struct Amounts {
  std::string request;
  std::string limit;
};
[[nodiscard]] Result<Amounts> parse_amounts(std::string_view text, std::string_view flag);

/// A volume of the sandbox, which outlives a stop (SIZE:PATH[:CLASS]), or an object of the namespace: a
/// PersistentVolumeClaim (NAME:PATH), a Secret (secret/NAME:PATH) or a ConfigMap (config/NAME:PATH).
struct Volume {
  enum class Kind : std::uint8_t { own, claim, secret, config };
  Kind kind = Kind::own;
  std::string size;  ///< size of a volume of the sandbox
  std::string name;  ///< name of the object of the namespace
  std::string path;
  std::string storage_class;  ///< empty: the cluster's default
};
[[nodiscard]] Result<Volume> parse_volume(std::string_view text);

/// Returns an entry of a container's `envFrom`.
[[nodiscard]] Result<nlohmann::json> parse_env_from(std::string_view text);
/// Returns a `seccompProfile`.
[[nodiscard]] Result<nlohmann::json> parse_seccomp(std::string_view text);
/// Splits a text into words as a POSIX shell does, with quotes and backslashes, but without expansions.
[[nodiscard]] Result<std::vector<std::string>> parse_entrypoint(std::string_view text);

struct UserIds {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};
/// Returns nullopt for `image`.
[[nodiscard]] Result<std::optional<UserIds>> parse_run_as(std::string_view text);

/// Returns an entry of a Pod's `tolerations`.
[[nodiscard]] Result<nlohmann::json> parse_toleration(std::string_view text);
/// Returns both sides of RESOURCE=QUANTITY.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_quota(std::string_view text);
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);
/// Checks a CIDR and returns it unchanged.
[[nodiscard]] Result<std::string> parse_cidr(std::string_view text);
/// Returns the CIDRs of `cidr=...`; empty for the other words.
[[nodiscard]] Result<std::vector<std::string>> parse_network(std::string_view text);

struct PodOptions;

/// The description of one option of a Pod. `T` is bool, std::string, a port, an enum with names, a list of texts, names
/// with values, or a time that may be left out.
template <class T>
struct PodOption {
  std::string_view name;       ///< name of the member, and in JSON
  T PodOptions::* member;      ///< its initial value is the default
  std::string_view json = {};  ///< name in JSON, if it differs
  std::string_view flag;       ///< flag of `skiff up` and similar commands, without dashes
  std::string_view environment = {};
  std::string_view value = {};  ///< placeholder of the value in the help
  std::string_view help;
  std::string_view shown_default = {};
  char letter = 0;
  std::span<const std::string_view> words = {};  ///< the permitted values; empty: any
  bool is_file = false;  ///< the flag names a YAML or JSON file; the text is its content as JSON
  /// False if the option concerns objects beside the Pod, or can be changed in a running Pod. A sandbox from a pool
  /// then has its own value.
  bool is_of_pod = true;
  bool is_of_one = false;         ///< sandboxes of a pool, which are all alike, cannot have it
  bool is_of_any_driver = false;  ///< drivers without Pods support it, too
  bool is_of_machines = false;    ///< the drivers box and docker support it, too
  bool is_for_all = false;        ///< may be a default for all drivers: drivers without Pods ignore it
  std::string_view spec = {};  ///< field of a Pod's spec that gets the value unless it is the default; times in seconds
  Result<> (*check)(const T& value, std::string_view flag) = nullptr;

  [[nodiscard]] constexpr std::string_view json_name() const noexcept { return json.empty() ? name : json; }
  [[nodiscard]] bool is_default(const PodOptions& options) const;
  /// The flag as a user writes it: "--cpu", or "--no-inject" for an option that is on by default.
  [[nodiscard]] std::string flag_text() const;
};

using Texts = std::vector<std::string>;
using Pairs = std::map<std::string, std::string>;
using TimeLimit = std::optional<std::chrono::milliseconds>;

/// Checks by parsing one text, or each of several.
template <auto parse>
Result<> parses(const std::string& text, std::string_view /*flag*/) {
  SKIFF_TRY_VOID(parse(text));
  return {};
}
template <auto parse>
Result<> each_parses(const Texts& texts, std::string_view /*flag*/) {
  for (const std::string& text : texts) {
    SKIFF_TRY_VOID(parse(text));
  }
  return {};
}
[[nodiscard]] Result<> check_amounts(const std::string& text, std::string_view flag);
/// Checks amounts of bytes, which have no thousandths.
[[nodiscard]] Result<> check_bytes(const std::string& text, std::string_view flag);
[[nodiscard]] Result<> check_env_from(const Texts& texts, std::string_view flag);
[[nodiscard]] Result<> check_seccomp(const std::string& text, std::string_view flag);
[[nodiscard]] Result<> check_tolerations(const Texts& texts, std::string_view flag);
[[nodiscard]] Result<> check_absolute(const std::string& path, std::string_view flag);
[[nodiscard]] Result<> check_overrides(const std::string& text, std::string_view flag);

inline constexpr std::array<std::string_view, 4> kPullPolicies{"", "Always", "IfNotPresent", "Never"};

/// The options that only a sandbox in a cluster can have, and its dialects: X(type, member, default, the other fields
/// of its `PodOption`). A row here defines the member, its JSON in records, its flag, variable and help, its check, its
/// place in pools, and, with `spec`, its place in the Pod's manifest.
// clang-format off
#define SKIFF_POD_OPTIONS(X)                                                                                           \
  X(std::string, agent_image, {}, .flag = "agent-image", .environment = "SKIFF_AGENT_IMAGE", .value = "IMAGE",         \
    .help = "Image that contains skiffd, which you have built and pushed; an init container copies skiffd into the "   \
          "sandbox.",                                                                                                  \
    .is_for_all = true)                                                                                                \
  X(bool, inject, true, .flag = "inject",                                                                              \
    .help = "Copy skiffd into the image; --no-inject if skiffd is the image's entrypoint.")                            \
  X(std::string, pull_policy, {}, .flag = "pull-policy", .environment = "SKIFF_PULL_POLICY", .value = "POLICY",        \
    .help = "When to pull images: Always, IfNotPresent or Never.",                                                     \
    .shown_default = "the cluster's", .words = kPullPolicies, .is_for_all = true)                                      \
  X(Texts, pull_secrets, {}, .flag = "pull-secret", .environment = "SKIFF_PULL_SECRET", .value = "SECRET",             \
    .help = "Secret with the credentials for the image's registry.", .is_for_all = true)                               \
  X(std::string, cpu, "100m:1", .flag = "cpu", .environment = "SKIFF_CPU", .value = "REQUEST[:LIMIT]",                 \
    .help = "Cores, as 250m:1. A box has no limit without it.", .is_of_machines = true, .check = &check_amounts)       \
  X(std::string, memory, "128Mi:1Gi", .flag = "memory", .environment = "SKIFF_MEMORY", .value = "REQUEST[:LIMIT]",     \
    .help = "Memory, as 128Mi:1Gi. A box has no limit without it.", .is_of_machines = true, .check = &check_bytes)     \
  X(std::string, disk, "64Mi:5Gi", .flag = "disk", .environment = "SKIFF_DISK", .value = "REQUEST[:LIMIT]",            \
    .help = "Ephemeral storage.", .check = &check_bytes)                                                               \
  X(Texts, volumes, {}, .flag = "volume", .value = "SIZE:PATH[:CLASS]",                                                \
    .help = "A volume that survives a stop, for example 10Gi:/data. Also mounts objects of the namespace: "            \
          "CLAIM:PATH, secret/NAME:PATH, config/NAME:PATH.",                                                           \
    .is_of_one = true, .check = &each_parses<parse_volume>)                                                            \
  X(Texts, env_from, {}, .flag = "env-from", .value = "secret/NAME",                                                   \
    .help = "Set each key of this Secret, or of the ConfigMap config/NAME, as a variable; its value cannot be read "   \
          "from the sandbox's objects.",                                                                               \
    .check = &check_env_from)                                                                                          \
  X(std::string, run_as, "1000:1000", .flag = "run-as", .environment = "SKIFF_RUN_AS", .value = "UID[:GID]",           \
    .help = "User of the sandbox; image: the image's own, even root.",                                                 \
    .letter = 'u', .check = &parses<parse_run_as>)                                                                     \
  X(std::string, seccomp, "RuntimeDefault", .flag = "seccomp", .environment = "SKIFF_SECCOMP", .value = "PROFILE",     \
    .help = "Permitted system calls: RuntimeDefault, Localhost/PATH (a profile of the node), or Unconfined.",          \
    .check = &check_seccomp)                                                                                           \
  X(std::string, username, {}, .flag = "username", .value = "NAME",                                                    \
    .help = "User whom the sandbox belongs to, stored as a label.", .is_of_pod = false, .is_of_one = true)             \
  X(Texts, ports, {}, .flag = "port", .value = "PORT",                                                                 \
    .help = "Port of a server in the sandbox, for its service; admitted by every --network.",                          \
    .is_of_pod = false, .is_of_one = true, .check = &each_parses<parse_port>)                                          \
  X(Texts, dialects, {}, .flag = "dialect", .value = "NAME",                                                           \
    .help = "Also serve another system's protocol, on ports that require no credential: see docs/clients.md.",         \
    .words = kDialectNames, .is_of_any_driver = true)                                                                  \
  X(ServiceKind, service, ServiceKind::clusterip, .flag = "service", .environment = "SKIFF_SERVICE", .value = "KIND",  \
    .help = "Kind of its Service: none, clusterip, headless, nodeport, loadbalancer. With --pool: only if needed.",    \
    .is_of_pod = false, .is_of_one = true)                                                                             \
  X(bool, wait_address, false, .flag = "wait-address",                                                                 \
    .help = "With --service loadbalancer: also wait for the external address.",                                        \
    .is_of_pod = false, .is_of_one = true)                                                                             \
  X(std::uint16_t, agent_port, kAgentPort, .flag = "agent-port", .value = "PORT",                                      \
    .help = "Port of skiffd in the Pod, if your own server uses the default.")                                         \
  X(std::string, network, "open", .flag = "network", .environment = "SKIFF_NETWORK", .value = "POLICY",                \
    .help = "What the sandbox may reach: open or deny; in a cluster that enforces NetworkPolicy also dns or "          \
          "cidr=10.0.0.0/8,... The driver box denies unless you say open, which needs passt.",                         \
    .is_of_pod = false, .is_of_machines = true, .check = &parses<parse_network>)                                       \
  X(Texts, allow, {}, .flag = "allow", .value = "CIDR",                                                                \
    .help = "Only these addresses may reach the sandbox; `skiff network` changes them later.",                         \
    .is_of_pod = false, .is_of_one = true, .check = &each_parses<parse_cidr>)                                          \
  X(std::string, runtime_class, {}, .flag = "runtime-class", .environment = "SKIFF_RUNTIME_CLASS", .value = "NAME",    \
    .help = "A RuntimeClass, for example gvisor.", .spec = "runtimeClassName")                                         \
  X(Pairs, node_selector, {}, .flag = "node-selector", .value = "NAME=VALUE",                                          \
    .help = "Label that the node must have.", .spec = "nodeSelector")                                                  \
  X(Texts, tolerations, {}, .flag = "toleration", .value = "KEY[=VALUE][:EFFECT]",                                     \
    .help = "Taint that the Pod tolerates; * for all.", .check = &check_tolerations)                                   \
  X(std::string, service_account, {}, .flag = "service-account", .value = "NAME",                                      \
    .help = "ServiceAccount of the Pod, whose token is mounted; by default none is.",                                  \
    .spec = "serviceAccountName")                                                                                      \
  X(Pairs, annotations, {}, .flag = "annotation", .value = "NAME=VALUE",                                               \
    .help = "Annotation of the Pod.")                                                                                  \
  X(std::string, workdir, "/workspace", .flag = "workdir", .environment = "SKIFF_WORKDIR", .value = "DIR",             \
    .help = "Directory of the sandbox, where commands start and files are served from.", .check = &check_absolute)     \
  X(std::string, entrypoint, {}, .flag = "entrypoint", .value = "COMMAND",                                             \
    .help = "Command to run beside the agent, split as a shell does, without expansion. The image's entrypoint is "    \
          "not run.",                                                                                                  \
    .check = &parses<parse_entrypoint>)                                                                                \
  X(std::string, template_name, {}, .json = "template", .flag = "template", .value = "NAME",                           \
    .help = "A SandboxTemplate (driver claim).", .is_of_pod = false)                                                   \
  X(std::string, pool, {}, .flag = "pool", .environment = "SKIFF_POOL", .value = "NAME",                               \
    .help = "Take a warm sandbox from this pool.", .is_of_pod = false, .is_of_one = true)                              \
  X(bool, namespace_per_sandbox, false, .flag = "namespace-per-sandbox",                                               \
    .help = "Create a namespace for the sandbox.", .is_of_one = true)                                                  \
  X(Texts, quota, {}, .flag = "quota", .value = "RESOURCE=QUANTITY",                                                   \
    .help = "ResourceQuota of that namespace, for example limits.cpu=4.",                                              \
    .is_of_pod = false, .is_of_one = true, .check = &each_parses<parse_quota>)                                         \
  X(std::string, token_secret, {}, .flag = "token-secret", .value = "NAME",                                            \
    .help = "Secret whose key `token` the agent also accepts.")                                                        \
  X(TimeLimit, deadline, {}, .json = "deadline_ms", .flag = "deadline", .value = "TIME",                               \
    .help = "The cluster ends the Pod after this time, whatever its lease is; it cannot be raised. 0: never.",         \
    .spec = "activeDeadlineSeconds")                                                                                   \
  X(std::string, overrides, {}, .flag = "pod-overrides", .environment = "SKIFF_POD_OVERRIDES", .value = "FILE",        \
    .help = "YAML or JSON to merge into the Pod's spec; lists of named items are merged by name, volumeMounts by "     \
          "path.",                                                                                                     \
    .is_file = true, .check = &check_overrides)
// clang-format on

/// The texts have the form of `skiff up`'s flags. Call `check_pod_options` before anything is created.
struct PodOptions {
#define SKIFF_X(type, name, initial, ...) type name = initial;
  SKIFF_POD_OPTIONS(SKIFF_X)
#undef SKIFF_X
};

#define SKIFF_X(type, member_name, initial, ...) \
  PodOption<type>{.name = #member_name, .member = &PodOptions::member_name, __VA_ARGS__},
inline constexpr auto kPodOptions = std::tuple{SKIFF_POD_OPTIONS(SKIFF_X)};
#undef SKIFF_X
#undef SKIFF_POD_OPTIONS

template <class T>
bool PodOption<T>::is_default(const PodOptions& options) const {
  static const PodOptions usual;
  return options.*member == usual.*member;
}

template <class T>
std::string PodOption<T>::flag_text() const {
  std::string text{"--"};
  if constexpr (std::is_same_v<T, bool>) {
    if (PodOptions{}.*member) text += "no-";
  }
  return text.append(flag);
}

/// Calls `each(option)` for all options.
template <class Each>
void for_each_pod_option(Each each) {
  std::apply([&](const auto&... option) { (each(option), ...); }, kPodOptions);
}

/// Returns the first error of `check(option)`.
template <class Check>
[[nodiscard]] Result<> check_each_pod_option(Check check) {
  Result<> checked;
  std::apply([&](const auto&... option) { (void)((checked = check(option)).has_value() && ...); }, kPodOptions);
  return checked;
}

/// `invalid_field` names the flag with the invalid value.
[[nodiscard]] Result<> check_pod_options(const PodOptions& options);

/// For a driver without Pods: `invalid_field` names the first flag whose value is not the default.
[[nodiscard]] Result<> refuse_pod_options(const PodOptions& options, std::string_view driver);

}  // namespace skiff::container

namespace skiff::protocol {

template <>
struct EnumNames<container::ServiceKind> {
  using E = container::ServiceKind;
  static constexpr std::array values{EnumName{E::none, "none"}, EnumName{E::clusterip, "clusterip"},
                                     EnumName{E::headless, "headless"}, EnumName{E::nodeport, "nodeport"},
                                     EnumName{E::loadbalancer, "loadbalancer"}};
};

template <>
struct Schema<container::PodOptions> {
  static constexpr auto fields = std::apply(
      [](const auto&... option) {
        return std::tuple{field(option.json_name(), option.member, option.help, {.optional = true})...};
      },
      container::kPodOptions);
};

}  // namespace skiff::protocol
