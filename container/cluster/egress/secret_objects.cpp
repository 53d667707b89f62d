#include "container/cluster/egress/secret_objects.hpp"

#include <utility>

#include "base/small_file.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/objects/resource.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

using kube::Object;

constexpr std::string_view kObjectPrefix = "skiff-secret.";
constexpr std::string_view kSecretComponent = "egress-secret";
constexpr std::string_view kSecretField = "secret.json";
constexpr std::string_view kKeyField = "ca.key";
constexpr std::string_view kAuthorityField = "ca.pem";
constexpr std::string_view kHostsField = "hosts";
constexpr std::string_view kRequestsField = "requests";
constexpr std::string_view kVariableField = "variable";
constexpr std::string_view kPlaceholderField = "placeholder";

Object create_named(const kube::Resource& resource, const std::string& namespace_name, const std::string& name) {
  Object object = Object::make(resource, namespace_name, egress_secret_name(name));
  labels::put_common(object, kSecretComponent, name, {});
  return object;
}

std::unexpected<Error> damaged_object(const Object& object) {
  return fail(Errc::invalid_field, "the object " + object.namespace_name() + "/" + object.name() +
                                       " is damaged: skiff secret set replaces it");
}

std::string named_in(const Object& object) {
  const std::string whole = object.name();
  return whole.starts_with(kObjectPrefix) ? whole.substr(kObjectPrefix.size()) : std::string{};
}

}  // namespace

std::string egress_secret_name(std::string_view name) {
  return std::string{kObjectPrefix}.append(name);
}

std::string egress_secret_selector() {
  return std::string{labels::kOurs}.append(",").append(labels::kComponent).append("=").append(kSecretComponent);
}

Result<EgressSecret> read_egress_secret(const Object& secret) {
  const auto field = [&](std::string_view name) { return protocol::decode_base64(secret.text({"data", name})); };
  auto text = field(kSecretField);
  auto key = field(kKeyField);
  const auto ca = field(kAuthorityField);
  if (!text || !key || !ca) return damaged_object(secret);
  auto read = protocol::decode<egress::Secret>(*text);
  wipe(*text);
  // An error of JSON could quote the text.
  const bool is_right = read && read->name == named_in(secret) && read->check();
  if (!is_right) return damaged_object(secret);
  return EgressSecret{.secret = std::move(*read), .ca_pem = *ca, .key_pem = std::move(*key)};
}

Object egress_secret_object(const EgressSecret& secret, const std::string& tenant) {
  Object object = create_named(kube::kSecrets, egress_namespace(tenant), secret.secret.name);
  object.json["type"] = "Opaque";
  std::string text = protocol::to_json(secret.secret);
  auto& data = object.json["data"];
  data[kSecretField] = protocol::encode_base64(text);
  data[kKeyField] = protocol::encode_base64(secret.key_pem);
  data[kAuthorityField] = protocol::encode_base64(secret.ca_pem);
  wipe(text);
  return object;
}

Result<EgressSecretNotice> read_egress_secret_notice(const Object& config_map) {
  EgressSecretNotice notice{
      .name = named_in(config_map), .hosts = {}, .ca_pem = config_map.text({"data", kAuthorityField})};
  auto hosts = protocol::decode<std::vector<std::string>>(config_map.text({"data", kHostsField}));
  if (!hosts || notice.name.empty() || notice.ca_pem.empty()) return damaged_object(config_map);
  notice.hosts = std::move(*hosts);
  if (const std::string text = config_map.text({"data", kRequestsField}); !text.empty()) {
    auto requests = protocol::decode<std::vector<std::string>>(text);
    if (!requests) return damaged_object(config_map);
    notice.requests = std::move(*requests);
  }
  notice.variable = config_map.text({"data", kVariableField});
  notice.placeholder = config_map.text({"data", kPlaceholderField});
  return notice;
}

Object egress_secret_notice(const EgressSecret& secret, const std::string& tenant) {
  Object object = create_named(kube::kConfigMaps, tenant, secret.secret.name);
  object.json["data"] = {{kHostsField, protocol::to_json(secret.secret.hosts)}, {kAuthorityField, secret.ca_pem}};
  if (!secret.secret.requests.empty()) {
    object.json["data"][kRequestsField] = protocol::to_json(secret.secret.requests);
  }
  if (!secret.secret.variable.empty()) {
    object.json["data"][kVariableField] = secret.secret.variable;
    object.json["data"][kPlaceholderField] = secret.secret.placeholder;
  }
  return object;
}

}  // namespace skiff::container
