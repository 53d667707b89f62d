#include "container/cluster/gateway.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

std::optional<GatewayAddress> listener(const kube::Object& gateway, std::string_view protocol) {
  const nlohmann::json* listeners = gateway.find({"spec", "listeners"});
  if (listeners == nullptr || !listeners->is_array()) return std::nullopt;
  for (const nlohmann::json& entry : *listeners) {
    const kube::Object one{entry};
    const auto port = one.integer({"port"});
    if (one.text({"protocol"}) != protocol || !port || *port < 1 || *port > 65535) continue;
    GatewayAddress found{.url = {.tls = protocol == "HTTPS", .port = static_cast<std::uint16_t>(*port)},
                         .hostname = one.text({"hostname"})};
    // A wildcard matches any name below it, so the host name is unknown.
    if (found.hostname.starts_with('*')) found.hostname.clear();
    return found;
  }
  return std::nullopt;
}

}  // namespace

Result<GatewayAddress> gateway_address(const kube::Object& gateway) {
  const std::string called = "Gateway " + gateway.namespace_name() + "/" + gateway.name();
  auto found = listener(gateway, "HTTP");
  if (!found) found = listener(gateway, "HTTPS");
  if (!found) return fail(Errc::invalid_field, called + " has no listener for HTTP or HTTPS", "--gateway");
  const nlohmann::json* addresses = gateway.find({"status", "addresses"});
  if (addresses != nullptr && addresses->is_array() && !addresses->empty()) {
    found->url.host = kube::Object{addresses->front()}.text({"value"});
  }
  if (found->url.host.empty()) {
    const auto programmed = gateway.condition("Programmed");
    return fail(Errc::sandbox_not_running,
                called + " has no address yet" + (programmed ? ": " + programmed->message : ""), "--gateway");
  }
  return std::move(*found);
}

Task<Result<GatewayAddress>> find_gateway(kube::Client* client, std::string name, std::string namespace_name) {
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    namespace_name = name.substr(0, slash);
    name.erase(0, slash + 1);
  }
  SKIFF_CO_TRY(auto found, co_await client->get(kube::kGateways, std::move(namespace_name), std::move(name)));
  co_return gateway_address(found);
}

}  // namespace skiff::container
