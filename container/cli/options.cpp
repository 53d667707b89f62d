#include "container/cli/options.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace skiff::container {

std::vector<Setting> option_rows(Options& options) {
  constexpr std::string_view kGroup = "Flags of every command";
  constexpr std::string_view kCluster = "Flags of every command, for clusters";
  return {
      {.flag = "driver",
       .environment = "SKIFF_DRIVER",
       .target = setting::Choice{&options.driver, {"auto", "pod", "claim", "local"}},
       .value = "DRIVER",
       .group = kGroup,
       .help =
           "What hosts the sandbox. pod: a Pod of any cluster. claim: agent-sandbox. local: a process on this machine, "
           "which is no isolation. auto: pod when a cluster is configured, else local."},
      {.flag = "output",
       .environment = "SKIFF_OUTPUT",
       .target = setting::Choice{&options.output, {"table", "json", "yaml", "name"}},
       .value = "FORMAT",
       .group = kGroup,
       .help = "How to print: table, json, yaml, or name for the names alone.",
       .letter = 'o'},
      {.flag = "owner",
       .environment = "SKIFF_OWNER",
       .target = setting::Text{&options.owner},
       .value = "OWNER",
       .group = kGroup,
       .help = "Whose sandboxes are meant by ps, gc and --all, and whose new ones are.",
       .shown_default = "user@host"},
      {.flag = "config",
       .environment = "SKIFF_CONFIG",
       .target = setting::Text{&options.config},
       .value = "FILE",
       .group = kGroup,
       .help = "Defaults of flags, as YAML; variables and flags win over it. Those of new sandboxes count where one is "
               "made.",
       .shown_default = "~/.config/skiff/config.yaml"},
      {.flag = "quiet",
       .environment = "SKIFF_QUIET",
       .target = setting::Switch{&options.quiet},
       .value = "",
       .group = kGroup,
       .help = "Say nothing of progress on stderr.",
       .letter = 'q'},
      {.flag = "namespace",
       .environment = "SKIFF_NAMESPACE",
       .target = setting::Text{&options.access.namespace_name},
       .value = "NAMESPACE",
       .group = kCluster,
       .help = "Where in the cluster.",
       .shown_default = "the context's",
       .letter = 'n'},
      {.flag = "context",
       .environment = "SKIFF_CONTEXT",
       .target = setting::Text{&options.access.context},
       .value = "CONTEXT",
       .group = kCluster,
       .help = "Which context of the kubeconfig.",
       .shown_default = "the current one"},
      {.flag = "kubeconfig",
       .environment = "",
       .target = setting::Text{&options.access.kubeconfig},
       .value = "FILE",
       .group = kCluster,
       .help = "Also SKIFF_KUBECONFIG_DATA (its text), or KUBECONFIG; in a Pod its service account.",
       .shown_default = "~/.kube/config"},
      {.flag = "server",
       .environment = "SKIFF_SERVER",
       .target = setting::Text{&options.access.server},
       .value = "URL",
       .group = kCluster,
       .help = "The API server, in place of the kubeconfig's."},
      {.flag = "certificate-authority",
       .environment = "SKIFF_CERTIFICATE_AUTHORITY",
       .target = setting::Text{&options.access.certificate_authority},
       .value = "FILE",
       .group = kCluster,
       .help = "PEM of who vouches for that server.",
       .shown_default = "the kubeconfig's, else the system's"},
      {.flag = "",
       .environment = "SKIFF_KUBE_TOKEN",
       .target = setting::Text{&options.access.token},
       .value = "TOKEN",
       .group = kCluster,
       .help = "A bearer token for the API server, in place of the kubeconfig's user."},
      {.flag = "name-prefix",
       .environment = "SKIFF_NAME_PREFIX",
       .target = setting::Text{&options.name_prefix},
       .value = "PREFIX",
       .group = kCluster,
       .help = "Begins the names of all objects."},
      {.flag = "reach",
       .environment = "SKIFF_REACH",
       .target = setting::Choice{&options.reach,
                                 {"auto", "url", "in-cluster", "gateway", "port-forward", "proxy", "service"}},
       .value = "WAY",
       .group = kCluster,
       .help = "By which way to reach agents. auto tries them in this order, but never service, the address of a "
               "LoadBalancer or a NodePort: tokens and data cross the network there in clear text."},
      {.flag = "url",
       .environment = "SKIFF_URL",
       .target = setting::Text{&options.url},
       .value = "URL",
       .group = kCluster,
       .help = "Where the agent is, when you know better."},
      {.flag = "gateway-url",
       .environment = "SKIFF_GATEWAY_URL",
       .target = setting::Text{&options.gateway_url},
       .value = "URL",
       .group = kCluster,
       .help = "agent-sandbox's router, which leads to its sandboxes."},
      {.flag = "gateway",
       .environment = "SKIFF_GATEWAY",
       .target = setting::Text{&options.gateway},
       .value = "[NAMESPACE/]NAME",
       .group = kCluster,
       .help = "The Gateway (gateway.networking.k8s.io) before that router: its address stands for --gateway-url."},
      {.flag = "",
       .environment = "SKIFF_GATEWAY_TOKEN",
       .target = setting::Text{&options.gateway_token},
       .value = "TOKEN",
       .group = kCluster,
       .help = "A bearer token for that router (its ROUTER_AUTH_TOKEN); it doesn't get as far as the sandbox."},
      {.flag = "agent-certificate-authority",
       .environment = "SKIFF_AGENT_CERTIFICATE_AUTHORITY",
       .target = setting::Text{&options.agent_certificate_authority},
       .value = "FILE",
       .group = kCluster,
       .help = "CA certificates (PEM) to verify --url, --gateway-url or an HTTPS --gateway with.",
       .shown_default = "the system's"},
      {.flag = "agent-server-name",
       .environment = "SKIFF_AGENT_SERVER_NAME",
       .target = setting::Text{&options.agent_server_name},
       .value = "NAME",
       .group = kCluster,
       .help = "The name that the certificate there is for.",
       .shown_default = "the URL's host, or the hostname of the Gateway's listener"},
  };
}

std::string default_owner() {
  std::string owner = "unknown";
  if (const passwd* user = ::getpwuid(::geteuid()); user != nullptr) {
    owner = user->pw_name;
  } else {
    owner = std::to_string(::geteuid());
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != 0) owner += std::string{"@"} + host.data();
  return owner;
}

}  // namespace skiff::container
