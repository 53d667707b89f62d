#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "container/kube/auth/access.hpp"
#include "container/kube/auth/exec_plugin.hpp"
#include "container/kube/objects/status.hpp"
#include "container/kube/objects/yaml.hpp"
#include "container/net/time.hpp"

/// What the launcher reads and did not write: kubeconfigs, what credential plugins print, what a server (or a proxy in
/// front of it) answers. The first byte picks.
namespace {

namespace kube = skiff::kube;
namespace net = skiff::net;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_kubeconfig(std::string_view text) {
  if (const auto json = kube::parse_yaml(text)) require(!json->dump().empty());
  const auto config = kube::parse_kubeconfig(text, "f", "/nowhere");
  if (!config) return require(!config.error().message.empty());
  const std::string data{text};
  const net::Environment environment = [&](const char* name) {
    return std::string_view{name} == "SKIFF_KUBECONFIG_DATA" ? data : std::string{};
  };
  for (const auto& [name, context] : config->contexts) {
    kube::AccessOptions options;
    options.context = name;
    // Files that the input names are not read: what a fuzzer finds there depends on the machine.
    const auto user = config->users.find(context.user);
    const auto cluster = config->clusters.find(context.cluster);
    if (user != config->users.end() &&
        (!user->second.client_certificate.file.empty() || !user->second.client_key.file.empty())) {
      continue;
    }
    if (cluster != config->clusters.end() && !cluster->second.certificate_authority.file.empty()) continue;
    const auto access = kube::find_access(options, environment);
    if (access) {
      require(access->server.port != 0);
      require(!access->server.host.empty());
    }
  }
}

void check_answer(std::string_view text) {
  skiff::protocol::HttpResponseHead head;
  head.status = 500;
  const auto failure = kube::read_failure(head, text, "get");
  require(failure.status.code == 500);
  require(failure.error.message.starts_with("get: "));
  static_cast<void>(kube::read_status(text, "watch"));
}

void check_small(std::string_view text) {
  if (const auto time = net::parse_time(text)) require(net::parse_time(net::format_time(*time)).has_value());
  if (const auto url = net::parse_url(text, "x")) require(net::parse_url(url->text(), "x").has_value());
  const std::size_t end = text.find('\n');
  static_cast<void>(net::is_listed(text.substr(0, end), text.substr(end == text.npos ? 0 : end + 1), 443));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data + 1), size - 1};
  switch (data[0] % 4) {
    case 0:
      check_kubeconfig(text);
      break;
    case 1:
      check_answer(text);
      break;
    case 2: {
      kube::ExecPlugin plugin;
      plugin.api_version = "client.authentication.k8s.io/v1";
      static_cast<void>(kube::parse_exec_credential(text, plugin));
      break;
    }
    default:
      check_small(text);
  }
  return 0;
}
