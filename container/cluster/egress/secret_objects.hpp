#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/kube/objects/object.hpp"

/// Secrets of egress in a cluster, as objects. This file sends no requests.
namespace skiff::container {

/// Most bytes of all certificates that one sandbox trusts: they are one variable of its agent.
inline constexpr std::size_t kLargestTrust = std::size_t{96} << 10U;

/// The name of a secret's two objects. No sandbox has a name with a dot, so no record of one is called so.
[[nodiscard]] std::string egress_secret_name(std::string_view name);
/// Selects the Secrets in the proxy's namespace, and the ConfigMaps in that of its sandboxes.
[[nodiscard]] std::string egress_secret_selector();

/// A secret with the certificate authority that signs for its hosts, as the Secret in the proxy's namespace has it.
struct EgressSecret {
  egress::Secret secret;
  std::string ca_pem;
  std::string key_pem;
};
/// `invalid_field` if the Secret has something else. The error has none of its values.
[[nodiscard]] Result<EgressSecret> read_egress_secret(const kube::Object& secret);
[[nodiscard]] kube::Object egress_secret_object(const EgressSecret& secret, const std::string& tenant);

/// What the namespace of sandboxes may know of a secret: a ConfigMap there. It decides nothing in the proxy.
struct EgressSecretNotice {
  std::string name;
  std::vector<std::string> hosts;
  std::string ca_pem;
  std::vector<std::string> requests = {};
  std::string variable = {};  ///< of commands, with the placeholder
  std::string placeholder = {};
};
/// `invalid_field` if the ConfigMap has something else.
[[nodiscard]] Result<EgressSecretNotice> read_egress_secret_notice(const kube::Object& config_map);
[[nodiscard]] kube::Object egress_secret_notice(const EgressSecret& secret, const std::string& tenant);

}  // namespace skiff::container
