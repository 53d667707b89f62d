#include "container/serve/e2b/network.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/egress/policy.hpp"
#include "container/serve/answer.hpp"
#include "protocol/json/utf8.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::serve::e2b {
namespace {

using nlohmann::json;

constexpr std::size_t kShownOfName = 300;
constexpr std::string_view kAllowOut = "allowOut";

bool is_everything(std::string_view place) {
  return place == "0.0.0.0/0" || place == "::/0";
}

/// An address, or a block of them.
bool is_address(const std::string& place) {
  return protocol::Address::ip(place.substr(0, place.find('/')), 1).has_value();
}

Result<std::vector<std::string>> places_in(const json& network, const std::string& field) {
  const auto found = network.find(field);
  if (found == network.end() || found->is_null()) return std::vector<std::string>{};
  const bool is_list =
      found->is_array() && std::ranges::all_of(*found, [](const json& one) { return one.is_string(); });
  if (!is_list) return fail(Errc::invalid_field, field + ": expected a list of names or addresses", field);
  return found->get<std::vector<std::string>>();
}

/// HTTP and HTTPS to that name, as E2B allows them.
Result<> add_name(std::vector<std::string>& rules, const std::string& name) {
  // A port or a scheme would make another rule of it.
  if (name.contains(':')) {
    return fail(Errc::invalid_field,
                "allowOut: \"" + protocol::to_valid_utf8(name.substr(0, kShownOfName)) +
                    "\": expected a name without scheme and port",
                "allowOut");
  }
  for (const std::string& rule : {name, "http://" + name}) {
    if (auto policy = egress::Policy::parse(std::vector{rule}); !policy) {
      return std::unexpected{about_rules(std::move(policy.error()), kAllowOut)};
    }
    rules.push_back(rule);
  }
  return {};
}

/// Refuses what would silently be left out.
Result<> check_fields(const json& network) {
  for (const auto& [name, value] : network.items()) {
    if (name == "allowOut" || name == "denyOut" || name == "allow_internet_access") continue;
    // Ports are reached with a credential, whatever this field says (docs/e2b.md).
    if (name == "allowPublicTraffic" ? value == true || value.is_null() : !asks(value)) continue;
    return fail(Errc::not_supported, "network." + name + " is not supported: allowOut names what a sandbox may reach",
                "network." + name);
  }
  return {};
}

}  // namespace

bool asks(const json& value) {
  return !value.is_null() && !value.empty() && value != json(false);
}

Result<WantedNetwork> wanted_network(const json& network, bool has_internet) {
  using Kind = WantedNetwork::Kind;
  if (!asks(network)) return WantedNetwork{.kind = has_internet ? Kind::whole : Kind::nothing};
  if (!network.is_object()) return fail(Errc::invalid_field, "network: expected an object", "network");
  SKIFF_TRY_VOID(check_fields(network));
  SKIFF_TRY(const auto allowed, places_in(network, "allowOut"));
  SKIFF_TRY(const auto denied, places_in(network, "denyOut"));
  const auto access = network.find("allow_internet_access");
  if (access != network.end() && !access->is_null() && !access->is_boolean()) {
    return fail(Errc::invalid_field, "allow_internet_access: expected true or false", "allow_internet_access");
  }
  bool is_closed = !has_internet || (access != network.end() && *access == false);
  for (const std::string& place : denied) {
    if (!is_address(place)) return fail(Errc::invalid_field, "denyOut: expected addresses, and no names", "denyOut");
    if (!is_everything(place)) {
      return fail(Errc::not_supported, "denyOut: single addresses are not supported; 0.0.0.0/0 denies all", "denyOut");
    }
    is_closed = true;
  }
  WantedNetwork wanted{.kind = is_closed ? Kind::nothing : Kind::whole};
  for (const std::string& place : allowed) {
    // An allowed place beats a denied one.
    if (is_everything(place)) return WantedNetwork{};
    if (is_address(place)) {
      return fail(Errc::not_supported, "allowOut: addresses are not supported; it allows names", "allowOut");
    }
    SKIFF_TRY_VOID(add_name(wanted.rules, place));
  }
  if (wanted.rules.empty()) return wanted;
  if (!is_closed) {
    return fail(Errc::invalid_field,
                "When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block all "
                "other traffic.",
                "denyOut");
  }
  if (auto policy = egress::Policy::parse(wanted.rules); !policy) {
    return std::unexpected{about_rules(std::move(policy.error()), kAllowOut)};
  }
  wanted.kind = Kind::names;
  return wanted;
}

std::vector<std::string> rules_for(const WantedNetwork& wanted, bool is_open) {
  if (wanted.kind != WantedNetwork::Kind::whole) return wanted.rules;
  return is_open ? std::vector<std::string>{"*", "http://*"} : std::vector<std::string>{};
}

}  // namespace skiff::container::serve::e2b
