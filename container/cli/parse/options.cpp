#include "container/cli/parse/options.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace skiff::container {

bool names_a_cluster(const Options& options) {
  const kube::AccessOptions& access = options.access;
  return !access.context.empty() || !access.kubeconfig.empty() || !access.server.empty() ||
         !access.namespace_name.empty() || options.reach != "auto" || !options.gateway.empty() ||
         !options.gateway_url.empty();
}

bool names_an_agent(const Options& options) {
  return !options.url.empty() && (!options.token.empty() || !options.token_file.empty() || !options.key_file.empty());
}

bool names_a_server(const Options& options) {
  return !options.url.empty() && (!options.api_key.empty() || !options.api_key_file.empty());
}

std::vector<Setting> option_rows(Options& options) {
  constexpr std::string_view kGroup = "Flags of every command";
  constexpr std::string_view kAgent = "Flags of every command, for a running skiffd";
  constexpr std::string_view kServer = "Flags of every command, for skiff serve";
  constexpr std::string_view kCluster = "Flags of every command, for clusters";
  return {
      {.flag = "driver",
       .environment = "SKIFF_DRIVER",
       .target =
           setting::Choice{&options.driver, {"auto", "pod", "claim", "box", "docker", "local", "direct", "serve"}},
       .value = "DRIVER",
       .group = kGroup,
       .help = "What hosts the sandboxes. pod: Pods of any cluster. claim: agent-sandbox. box: isolated "
               "processes on this machine. docker: containers of docker, podman or nerdctl, or of the one that "
               "SKIFF_ENGINE names. local: processes on this machine, without isolation. direct: the skiffd at "
               "--url, under any NAME. serve: the `skiff serve` at --url. auto: direct if you give --url, a token or "
               "key for it and no flag of a cluster, or serve if you give --url and an API key; otherwise pod if a "
               "cluster is configured; without one docker for a sandbox with --image, or box. auto never "
               "chooses local."},
      {.flag = "output",
       .environment = "SKIFF_OUTPUT",
       .target = setting::Choice{&options.output, {"table", "json", "yaml", "name", "wide", "jsonpath="}},
       .value = "FORMAT",
       .group = kGroup,
       .help =
           "Output format: table, wide (a table with more columns), json, yaml, name for only the names, or "
           "jsonpath=TEMPLATE for parts of the JSON, for example {.items[*].name}. With json, an error is a line of "
           "JSON on stderr, with its code.",
       .letter = 'o'},
      {.flag = "owner",
       .environment = "SKIFF_OWNER",
       .target = setting::Text{&options.owner},
       .value = "OWNER",
       .group = kGroup,
       .help = "Owner recorded on new sandboxes; ps, gc and rm --all are limited to it.",
       .shown_default = "user@host"},
      {.flag = "config",
       .environment = "SKIFF_CONFIG",
       .target = setting::Text{&options.config},
       .value = "FILE",
       .group = kGroup,
       .help = "YAML file with defaults of flags; variables and flags override it. Its defaults for new sandboxes "
               "apply only to commands that create one.",
       .shown_default = "~/.config/skiff/config.yaml"},
      {.flag = "quiet",
       .environment = "SKIFF_QUIET",
       .target = setting::Switch{&options.quiet},
       .group = kGroup,
       .help = "Do not print progress to stderr.",
       .letter = 'q'},
      {.flag = "log-requests",
       .environment = "SKIFF_LOG_REQUESTS",
       .target = setting::Switch{&options.log_requests},
       .group = kGroup,
       .help = "Log the driver that is used, and each request to the API server or to `skiff serve`, to stderr. Of a "
               "request: its status and duration."},
      {.flag = "url",
       .environment = "SKIFF_URL",
       .target = setting::Text{&options.url},
       .value = "URL",
       .group = kAgent,
       .help = "Address of the agent: http://HOST:PORT, https://HOST:PORT or unix:///PATH. With --driver serve, of the "
               "server. With a driver for clusters the flag, but not the variable, skips the discovery of the agent's "
               "address."},
      {.flag = "",
       .environment = "SKIFF_TOKEN",
       .target = setting::Text{&options.token},
       .value = "TOKEN",
       .group = kAgent,
       .help = "A token for that agent, for --driver direct."},
      {.flag = "token-file",
       .environment = "SKIFF_TOKEN_FILE",
       .target = setting::Text{&options.token_file},
       .value = "FILE",
       .group = kAgent,
       .help = "File whose first word is the token; skiff reads the file again when necessary. Overrides SKIFF_TOKEN."},
      {.flag = "key-file",
       .environment = "SKIFF_KEY_FILE",
       .target = setting::Text{&options.key_file},
       .value = "FILE",
       .group = kAgent,
       .help = "Ed25519 private key (PEM) that belongs to the agent's public key; skiff signs tokens with it. "
               "Overrides tokens."},
      {.flag = "sandbox-id",
       .environment = "SKIFF_SANDBOX_ID",
       .target = setting::Text{&options.sandbox_id},
       .value = "ID",
       .group = kAgent,
       .help = "With --key-file: the id of the agent (skiffd's --sandbox-id, or the name of its host).",
       .shown_default = "NAME"},
      {.flag = "agent-certificate-authority",
       .environment = "SKIFF_AGENT_CERTIFICATE_AUTHORITY",
       .target = setting::Text{&options.agent_certificate_authority},
       .value = "FILE",
       .group = kAgent,
       .help = "CA certificates (PEM) that verify --url, --gateway-url or an HTTPS --gateway.",
       .shown_default = "the system's"},
      {.flag = "agent-server-name",
       .environment = "SKIFF_AGENT_SERVER_NAME",
       .target = setting::Text{&options.agent_server_name},
       .value = "NAME",
       .group = kAgent,
       .help = "Host name in that server's certificate.",
       .shown_default = "the URL's host, or the hostname of the Gateway's listener"},
      {.flag = "",
       .environment = "SKIFF_API_KEY",
       .target = setting::Text{&options.api_key},
       .value = "KEY",
       .group = kServer,
       .help = "API key of the `skiff serve` at --url, as `skiff key create` prints it. Without --url skiff uses "
               "E2B_API_URL and E2B_API_KEY, the variables of E2B's SDKs, if both are set."},
      {.flag = "api-key-file",
       .environment = "SKIFF_API_KEY_FILE",
       .target = setting::Text{&options.api_key_file},
       .value = "FILE",
       .group = kServer,
       .help =
           "File whose first word is the API key; skiff reads the file again when necessary. Overrides SKIFF_API_KEY."},
      {.flag = "namespace",
       .environment = "SKIFF_NAMESPACE",
       .target = setting::Text{&options.access.namespace_name},
       .value = "NAMESPACE",
       .group = kCluster,
       .help = "Namespace in the cluster.",
       .shown_default = "the context's",
       .letter = 'n'},
      {.flag = "context",
       .environment = "SKIFF_CONTEXT",
       .target = setting::Text{&options.access.context},
       .value = "CONTEXT",
       .group = kCluster,
       .help = "Context of the kubeconfig.",
       .shown_default = "the current one"},
      {.flag = "kubeconfig",
       .target = setting::Text{&options.access.kubeconfig},
       .value = "FILE",
       .group = kCluster,
       .help = "The kubeconfig. SKIFF_KUBECONFIG_DATA holds its text instead, KUBECONFIG names files. In a Pod without "
               "one, skiff uses the Pod's service account.",
       .shown_default = "~/.kube/config"},
      {.flag = "server",
       .environment = "SKIFF_SERVER",
       .target = setting::Text{&options.access.server},
       .value = "URL",
       .group = kCluster,
       .help = "Address of the API server; overrides the kubeconfig's."},
      {.flag = "certificate-authority",
       .environment = "SKIFF_CERTIFICATE_AUTHORITY",
       .target = setting::Text{&options.access.certificate_authority},
       .value = "FILE",
       .group = kCluster,
       .help = "CA certificates (PEM) that verify the API server.",
       .shown_default = "the kubeconfig's, else the system's"},
      {.flag = "",
       .environment = "SKIFF_KUBE_TOKEN",
       .target = setting::Text{&options.access.token},
       .value = "TOKEN",
       .group = kCluster,
       .help = "Bearer token for the API server; overrides the kubeconfig's user."},
      {.flag = "name-prefix",
       .environment = "SKIFF_NAME_PREFIX",
       .target = setting::Text{&options.name_prefix},
       .value = "PREFIX",
       .group = kCluster,
       .help = "Prefix of the names of all objects."},
      {.flag = "reach",
       .environment = "SKIFF_REACH",
       .target = setting::Choice{&options.reach,
                                 {"auto", "url", "in-cluster", "gateway", "port-forward", "proxy", "service"}},
       .value = "WAY",
       .group = kCluster,
       .help = "How to reach agents. auto tries the ways in this order, except service, the address of a LoadBalancer "
               "or a NodePort, where tokens and data cross the network in clear text."},
      {.flag = "gateway-url",
       .environment = "SKIFF_GATEWAY_URL",
       .target = setting::Text{&options.gateway_url},
       .value = "URL",
       .group = kCluster,
       .help = "Address of agent-sandbox's router, which forwards requests to sandboxes."},
      {.flag = "gateway",
       .environment = "SKIFF_GATEWAY",
       .target = setting::Text{&options.gateway},
       .value = "[NAMESPACE/]NAME",
       .group = kCluster,
       .help = "Gateway (gateway.networking.k8s.io) in front of that router; its address replaces --gateway-url."},
      {.flag = "",
       .environment = "SKIFF_GATEWAY_TOKEN",
       .target = setting::Text{&options.gateway_token},
       .value = "TOKEN",
       .group = kCluster,
       .help = "Bearer token for that router (its ROUTER_AUTH_TOKEN); the sandbox does not receive it."},
  };
}

namespace {

/// The name of the user in passwd(5); else the value of USER, or the number. getpwuid(3) needs shared libraries.
std::string user_name() {
  const uid_t uid = ::geteuid();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen("/etc/passwd", "re"), &std::fclose};
  while (const passwd* const user = file ? ::fgetpwent(file.get()) : nullptr) {
    if (user->pw_uid == uid) return user->pw_name;
  }
  const char* const name = std::getenv("USER");
  return name != nullptr && *name != 0 ? std::string{name} : std::to_string(uid);
}

}  // namespace

std::string default_owner() {
  std::string owner = user_name();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != 0) owner += std::string{"@"} + host.data();
  return owner;
}

}  // namespace skiff::container
