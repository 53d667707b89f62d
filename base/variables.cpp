#include "base/variables.hpp"

#include <algorithm>
#include <array>

#include "base/settings/settings.hpp"

namespace skiff {
namespace {

constexpr std::string_view kPrefix = "SKIFF_";

// The tests compare both with the tables of settings.
constexpr auto kAgentVariables = std::to_array<std::string_view>({"SKIFF_ALLOWED_HOST",
                                                                  "SKIFF_ALLOWED_ORIGIN",
                                                                  "SKIFF_ALLOW_UNAUTHENTICATED",
                                                                  "SKIFF_AUDIT_COMMANDS",
                                                                  "SKIFF_AUDIT_LOG",
                                                                  "SKIFF_BODY_TIMEOUT",
                                                                  "SKIFF_CGROUP",
                                                                  "SKIFF_DATA_DIR",
                                                                  "SKIFF_DIALECT",
                                                                  "SKIFF_DISK_THREADS",
                                                                  "SKIFF_DRAIN_TIMEOUT",
                                                                  "SKIFF_E2B_DEADLINE",
                                                                  "SKIFF_E2B_HOME",
                                                                  "SKIFF_E2B_TOKEN_SHA256",
                                                                  "SKIFF_EGRESS",
                                                                  "SKIFF_EGRESS_CA",
                                                                  "SKIFF_EGRESS_CANARY",
                                                                  "SKIFF_EGRESS_TOKEN",
                                                                  "SKIFF_EGRESS_TRUST",
                                                                  "SKIFF_ENDED_COMMAND_TTL",
                                                                  "SKIFF_ENV_DENY",
                                                                  "SKIFF_EXIT_DRAIN",
                                                                  "SKIFF_HEADER_TIMEOUT",
                                                                  "SKIFF_IDEMPOTENCY_IDS",
                                                                  "SKIFF_IDEMPOTENCY_WINDOW",
                                                                  "SKIFF_IDLE_TIMEOUT",
                                                                  "SKIFF_IDLE_TTL",
                                                                  "SKIFF_KEEPALIVE",
                                                                  "SKIFF_KEEP_BYTES",
                                                                  "SKIFF_KILL_GRACE",
                                                                  "SKIFF_LISTEN",
                                                                  "SKIFF_LOG_FORMAT",
                                                                  "SKIFF_LOG_LEVEL",
                                                                  "SKIFF_MAX_COMMANDS",
                                                                  "SKIFF_MAX_CONNECTIONS",
                                                                  "SKIFF_MAX_ENDED_COMMANDS",
                                                                  "SKIFF_MAX_FRAME_BYTES",
                                                                  "SKIFF_MAX_HEADER_BYTES",
                                                                  "SKIFF_MAX_JSON_BYTES",
                                                                  "SKIFF_MAX_OUTPUT_BYTES",
                                                                  "SKIFF_MAX_RECEIVED_BYTES",
                                                                  "SKIFF_MAX_SCRIPT_BYTES",
                                                                  "SKIFF_MAX_SESSIONS",
                                                                  "SKIFF_MAX_TARGET_BYTES",
                                                                  "SKIFF_MAX_WAIT",
                                                                  "SKIFF_MEMORY_GUARD_PERCENT",
                                                                  "SKIFF_OUTPUT_MEMORY",
                                                                  "SKIFF_PORT_TIMEOUT",
                                                                  "SKIFF_PRINT_TOKEN",
                                                                  "SKIFF_PUBLIC_KEY",
                                                                  "SKIFF_PUBLIC_KEY_FILE",
                                                                  "SKIFF_ROOT",
                                                                  "SKIFF_SANDBOX_ID",
                                                                  "SKIFF_SHELL",
                                                                  "SKIFF_SPAWN_THREADS",
                                                                  "SKIFF_SPOOL_BYTES",
                                                                  "SKIFF_STDIN_BYTES",
                                                                  "SKIFF_TERMINATION_LOG",
                                                                  "SKIFF_TLS_CERT",
                                                                  "SKIFF_TLS_KEY",
                                                                  "SKIFF_TOKEN",
                                                                  "SKIFF_TOKEN_FILE",
                                                                  "SKIFF_TOKEN_SHA256",
                                                                  "SKIFF_TTL",

                                                                  "SKIFF_WRITE_TIMEOUT"});
constexpr auto kLauncherVariables = std::to_array<std::string_view>({"SKIFF_AGENT_CERTIFICATE_AUTHORITY",
                                                                     "SKIFF_AGENT_IMAGE",
                                                                     "SKIFF_AGENT_SERVER_NAME",
                                                                     "SKIFF_API_KEY",
                                                                     "SKIFF_API_KEY_FILE",
                                                                     "SKIFF_CERTIFICATE_AUTHORITY",
                                                                     "SKIFF_CONFIG",
                                                                     "SKIFF_CONTEXT",
                                                                     "SKIFF_CPU",
                                                                     "SKIFF_DETACH_KEYS",
                                                                     "SKIFF_DISK",
                                                                     "SKIFF_DRIVER",
                                                                     "SKIFF_ENGINE",
                                                                     "SKIFF_EXEC_TIMEOUT",
                                                                     "SKIFF_GATEWAY",
                                                                     "SKIFF_GATEWAY_TOKEN",
                                                                     "SKIFF_GATEWAY_URL",
                                                                     "SKIFF_IMAGE",
                                                                     "SKIFF_KEY_FILE",
                                                                     "SKIFF_KUBECONFIG_DATA",
                                                                     "SKIFF_KUBE_TOKEN",
                                                                     "SKIFF_LABEL",
                                                                     "SKIFF_LOG_REQUESTS",
                                                                     "SKIFF_MEMORY",
                                                                     "SKIFF_NAMESPACE",
                                                                     "SKIFF_NAME_PREFIX",
                                                                     "SKIFF_NETWORK",
                                                                     "SKIFF_OUTPUT",
                                                                     "SKIFF_OWNER",
                                                                     "SKIFF_POD_OVERRIDES",
                                                                     "SKIFF_POOL",
                                                                     "SKIFF_PULL_POLICY",
                                                                     "SKIFF_PULL_SECRET",
                                                                     "SKIFF_QUIET",
                                                                     "SKIFF_REACH",
                                                                     "SKIFF_RUNTIME_CLASS",
                                                                     "SKIFF_RUN_AS",
                                                                     "SKIFF_SANDBOX_ID",
                                                                     "SKIFF_SECCOMP",
                                                                     "SKIFF_SERVER",
                                                                     "SKIFF_SERVE_AUDIT_LOG",
                                                                     "SKIFF_SERVE_CONSOLE",
                                                                     "SKIFF_SERVE_DOMAIN",
                                                                     "SKIFF_SERVE_LISTEN",
                                                                     "SKIFF_SERVE_SERVICE_ACCOUNTS",
                                                                     "SKIFF_SERVE_TEMPLATES",
                                                                     "SKIFF_SERVICE",
                                                                     "SKIFF_TOKEN",
                                                                     "SKIFF_TOKEN_FILE",
                                                                     "SKIFF_TOOL_FOLDER",
                                                                     "SKIFF_URL",
                                                                     "SKIFF_WORKDIR"});

/// Kubernetes names the services of a namespace in the environment: SKIFF_SERVICE_HOST, SKIFF_SERVICE_PORT_HTTP,
/// SKIFF_PORT=tcp://10.0.0.1:80, SKIFF_PORT_80_TCP_ADDR and so on.
bool is_of_a_service(std::string_view name, std::string_view value) {
  constexpr std::string_view kPort = "_PORT_";
  if (name.ends_with("_SERVICE_HOST") || name.contains("_SERVICE_PORT")) return true;
  if (name.ends_with("_PORT") && value.contains("://")) return true;
  const std::size_t number = name.find(kPort);
  if (number == std::string_view::npos || number + kPort.size() == name.size()) return false;
  const char first = name[number + kPort.size()];
  return first >= '0' && first <= '9';
}

}  // namespace

std::span<const std::string_view> variables_of(Program program) noexcept {
  if (program == Program::agent) return kAgentVariables;
  return kLauncherVariables;
}

std::string UnknownVariable::text(std::string_view program) const {
  std::string said = name + " is not a variable of " + std::string{program};
  said += nearest.empty() ? ", and is ignored" : ": did you mean " + nearest + "?";
  return said;
}

std::vector<UnknownVariable> unknown_variables(const char* const* environment, Program own) {
  std::vector<UnknownVariable> found;
  std::vector<std::string_view> ours;  // without what all begin with, which would make all of them near
  for (const std::string_view name : variables_of(own)) ours.push_back(name.substr(kPrefix.size()));
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || name.size() == entry.size()) continue;
    const auto is_known = [name](Program program) { return std::ranges::count(variables_of(program), name) > 0; };
    if (is_known(Program::agent) || is_known(Program::launcher)) continue;
    if (is_of_a_service(name, entry.substr(name.size() + 1))) continue;
    const std::string_view nearest = nearest_word(name.substr(kPrefix.size()), ours);
    found.push_back({std::string{name}, nearest.empty() ? "" : std::string{kPrefix} + std::string{nearest}});
  }
  return found;
}

}  // namespace skiff
