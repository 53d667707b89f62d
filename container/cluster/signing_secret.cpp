#include "container/cluster/signing_secret.hpp"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr std::string_view kCurrentField = "private.pem";
constexpr std::string_view kOlderField = "older.pem";

Result<std::string> pem_in(const kube::Object& secret, std::string_view field) {
  auto pem = protocol::decode_base64(secret.text({"data", field}));
  if (pem) return std::move(*pem);
  return fail(Errc::invalid_field, "Secret " + secret.name() + ": its " + std::string{field} + " is not base64");
}

}  // namespace

std::string signing_secret_name(std::string_view prefix) {
  return std::string{prefix} + "signing-key";
}

Result<SigningKeys> read_signing_secret(const kube::Object& secret) {
  const auto refuse = [&](std::string_view field, const Error& error) {
    return fail(Errc::invalid_field, "Secret " + secret.name() + ": " + std::string{field} + ": " + error.message);
  };
  SKIFF_TRY(auto current_pem, pem_in(secret, kCurrentField));
  SKIFF_TRY(auto older_pems, pem_in(secret, kOlderField));
  auto current = SigningKey::parse_pem(current_pem);
  if (!current) return refuse(kCurrentField, current.error());
  auto older = SigningKey::parse_pems(older_pems);
  if (!older) return refuse(kOlderField, older.error());
  return SigningKeys{.current = std::move(*current), .older = std::move(*older)};
}

Result<json> signing_secret_data(const SigningKeys& keys) {
  SKIFF_TRY(auto current, keys.current.private_pem());
  std::string older;
  for (const SigningKey& key : keys.older) {
    SKIFF_TRY(auto pem, key.private_pem());
    older += pem;
  }
  return json{{kCurrentField, protocol::encode_base64(current)},
              {kOlderField, older.empty() ? json{} : json(protocol::encode_base64(older))}};
}

std::string configured_key(const kube::Object& pod) {
  const json* containers = pod.find({"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return {};
  for (const json& container : *containers) {
    const kube::Object one{container};
    const json* variables = one.find({"env"});
    if (variables == nullptr || !variables->is_array()) continue;
    for (const json& variable : *variables) {
      const kube::Object entry{variable};
      if (entry.text({"name"}) == "SKIFF_PUBLIC_KEY") return entry.text({"value"});
    }
  }
  return {};
}

}  // namespace skiff::container
