#include "container/cli/flags/egress_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/rules/profiles.hpp"
#include "container/kube/objects/yaml.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
/// Keys of the format that a later version will have.
constexpr std::array<std::string_view, 10> kLater{"secret",    "rules",        "tls", "private",       "access",
                                                  "websocket", "upload_limit", "ech", "encoded_slash", "ceiling"};

/// A JSON pointer (RFC 6901).
std::string below(const std::string& pointer, std::string_view key) {
  std::string made = pointer + "/";
  for (const char c : key) {
    if (c == '~') {
      made += "~0";
    } else if (c == '/') {
      made += "~1";
    } else {
      made += c;
    }
  }
  return made;
}

std::unexpected<Error> refuse(const std::string& pointer, const std::string& why) {
  return fail(Errc::invalid_field, "--egress-file: " + (pointer.empty() ? "/" : pointer) + ": " + why, "--egress-file");
}

Result<> check_keys(const json& object, const std::string& pointer, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const bool is_later = key == "secrets" || std::ranges::find(kLater, key) != kLater.end();
    return refuse(below(pointer, key),
                  is_later
                      ? "this version does not support it; it allows hosts by name, port and protocol. `skiff secret "
                        "set --allow` names requests, with --no-value also without a secret"
                      : "unknown key");
  }
  return {};
}

/// Adds a rule, and reports one that is wrong by its place.
Result<> add(std::vector<std::string>& rules, const std::string& rule, const std::string& pointer) {
  const auto meant = egress::with_profiles(std::vector{rule});
  if (!meant) return refuse(pointer, meant.error().message);
  if (const auto policy = egress::Policy::parse(*meant); !policy) return refuse(pointer, policy.error().message);
  rules.insert(rules.end(), meant->begin(), meant->end());
  return {};
}

Result<> add_profile(std::vector<std::string>& rules, const json& entry, const std::string& pointer) {
  SKIFF_TRY_VOID(check_keys(entry, pointer, {"profile"}));
  const json& name = entry["profile"];
  const std::string place = below(pointer, "profile");
  if (!name.is_string()) return refuse(place, "expected the name of a profile");
  return add(rules, "@" + name.get<std::string>(), place);
}

Result<> add_host(std::vector<std::string>& rules, const json& entry, const std::string& pointer) {
  SKIFF_TRY_VOID(check_keys(entry, pointer, {"host", "ports", "protocol"}));
  const auto host = entry.find("host");
  if (host == entry.end() || !host->is_string()) return refuse(below(pointer, "host"), "expected the name of a host");
  const auto name = host->get<std::string>();
  if (name.contains(':')) {
    return refuse(below(pointer, "host"), "expected a name alone; ports and protocol have keys of their own");
  }
  std::string before;
  if (const auto protocol = entry.find("protocol"); protocol != entry.end()) {
    if (*protocol != "http") return refuse(below(pointer, "protocol"), "expected http, or no protocol for TLS");
    before = "http://";
  }
  const auto ports = entry.find("ports");
  if (ports == entry.end()) return add(rules, before + name, below(pointer, "host"));
  const std::string place = below(pointer, "ports");
  if (!ports->is_array() || ports->empty()) return refuse(place, "expected a list of ports");
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const std::string at = below(place, std::to_string(i));
    if (!(*ports)[i].is_number_integer()) return refuse(at, "expected a port of 1 to 65535");
    SKIFF_TRY_VOID(add(rules, std::string{before}.append(name).append(":").append((*ports)[i].dump()), at));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> egress_rules_in(std::string_view yaml) {
  auto file = kube::parse_yaml(yaml);
  if (!file) return refuse({}, file.error().message);
  if (!file->is_object()) return refuse({}, "expected version and allow");
  SKIFF_TRY_VOID(check_keys(*file, {}, {"version", "allow"}));
  if (const auto version = file->find("version"); version == file->end() || *version != 1) {
    return refuse("/version", "expected 1");
  }
  const auto allow = file->find("allow");
  // Without a rule the sandbox would have no egress by name, and so another network.
  if (allow == file->end() || !allow->is_array() || allow->empty()) {
    return refuse("/allow", "expected a list of one host or more");
  }
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < allow->size(); ++i) {
    const json& entry = (*allow)[i];
    const std::string pointer = "/allow/" + std::to_string(i);
    if (entry.is_string()) {
      SKIFF_TRY_VOID(add(rules, entry.get<std::string>(), pointer));
    } else if (entry.is_object() && entry.contains("profile")) {
      SKIFF_TRY_VOID(add_profile(rules, entry, pointer));
    } else if (entry.is_object()) {
      SKIFF_TRY_VOID(add_host(rules, entry, pointer));
    } else {
      return refuse(pointer, "expected a host, {host, ports, protocol} or {profile}");
    }
  }
  return rules;
}

Result<std::vector<std::string>> read_egress_file(const std::string& path) {
  SKIFF_TRY(const auto text, read_small_file(path, kLargestFile));
  return egress_rules_in(text);
}

}  // namespace skiff::container
