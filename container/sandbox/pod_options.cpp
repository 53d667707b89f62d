#include "container/sandbox/pod_options.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/sandbox/dialects.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

std::unexpected<Error> refuse(std::string_view flag, std::string_view value, std::string_view expected) {
  std::string message{flag};
  message.append(" \"").append(value).append("\": expected ").append(expected);
  return fail(Errc::invalid_field, std::move(message), std::string{flag});
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

/// True for a text like a Kubernetes quantity: 250m, 1.5, 64Mi. The API server checks the exact grammar.
bool looks_like_quantity(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9' && text.size() <= 32 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.'; });
}

/// True for a text like the name of an object; a size begins with a digit. The API server checks the exact grammar.
bool looks_like_name(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' && text.size() <= 253 &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  unsigned bits = 0;
  if (slash == std::string_view::npos || !read_number(text.substr(slash + 1), bits)) return false;
  const std::string address{text.substr(0, slash)};
  // Address::ip takes brackets, as in a URL; the API server does not.
  if (address.starts_with('[')) return false;
  return protocol::Address::ip(address, 0).has_value() && bits <= (address.contains(':') ? 128U : 32U);
}

/// Ports of dialects require no credential, so by default they must not be reachable from outside the cluster.
Result<> check_dialects(const PodOptions& options) {
  SKIFF_TRY(auto ports, ports_of_dialects(options.dialects));
  for (const DialectPort& port : ports) {
    if (port.number == options.agent_port) {
      return fail(
          Errc::invalid_field,
          "--agent-port " + std::to_string(port.number) + ": --dialect has it already, for " + std::string{port.name},
          "--agent-port");
    }
    const bool is_taken = std::ranges::any_of(
        options.ports, [&](const std::string& text) { return parse_port(text).value_or(0) == port.number; });
    if (!is_taken) continue;
    return fail(Errc::invalid_field,
                "--port " + std::to_string(port.number) + ": --dialect has it already, for " + std::string{port.name},
                "--port");
  }
  const bool leads_outside = options.service == ServiceKind::nodeport || options.service == ServiceKind::loadbalancer;
  if (ports.empty() || !leads_outside || !options.allow.empty()) return {};
  return fail(Errc::invalid_field,
              "--service: with --dialect everyone who reaches the sandbox may run commands without a credential; "
              "restrict access with --allow CIDR",
              "--allow");
}

}  // namespace

Result<Amounts> parse_amounts(std::string_view text, std::string_view flag) {
  if (text.empty()) return Amounts{};
  const auto parts = split(text, ':');
  if (parts.size() > 2 || !std::ranges::all_of(parts, looks_like_quantity)) {
    return refuse(flag, text, "REQUEST or REQUEST:LIMIT, each as 250m, 2, 512Mi, 1Gi");
  }
  return Amounts{.request = std::string{parts.front()}, .limit = std::string{parts.back()}};
}

Result<Volume> parse_volume(std::string_view text) {
  const auto wrong = [text] {
    return refuse(
        "--volume", text,
        "SIZE:PATH[:CLASS], as 10Gi:/data, or CLAIM:PATH, secret/NAME:PATH, config/NAME:PATH, with an absolute "
        "path");
  };
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || !parts[1].starts_with('/')) return wrong();
  Volume volume;
  volume.path = parts[1];
  std::string_view what = parts[0];
  if (looks_like_quantity(what)) {
    volume.size = what;
    if (parts.size() > 2) volume.storage_class = parts[2];
    return volume;
  }
  volume.kind = Volume::Kind::claim;
  for (const auto& [prefix, kind] :
       {std::pair{std::string_view{"secret/"}, Volume::Kind::secret}, {"config/", Volume::Kind::config}}) {
    if (!what.starts_with(prefix)) continue;
    volume.kind = kind;
    what.remove_prefix(prefix.size());
  }
  if (parts.size() > 2 || !looks_like_name(what)) return wrong();
  volume.name = what;
  return volume;
}

Result<json> parse_env_from(std::string_view text) {
  for (const auto& [prefix, field] :
       {std::pair{std::string_view{"secret/"}, "secretRef"}, {"config/", "configMapRef"}}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view name = text.substr(prefix.size());
    if (looks_like_name(name)) return json{{field, {{"name", name}}}};
  }
  return refuse("--env-from", text, "secret/NAME or config/NAME");
}

Result<json> parse_seccomp(std::string_view text) {
  constexpr std::string_view kLocalhost = "Localhost/";
  if (text == "RuntimeDefault" || text == "Unconfined") return json{{"type", text}};
  const std::string_view path = text.substr(std::min(text.size(), kLocalhost.size()));
  if (text.starts_with(kLocalhost) && !path.empty()) {
    return json{{"type", "Localhost"}, {"localhostProfile", path}};
  }
  return refuse("--seccomp", text, "RuntimeDefault, Localhost/PATH or Unconfined");
}

Result<std::vector<std::string>> parse_entrypoint(std::string_view text) {
  constexpr std::string_view kEscapedInQuotes = "\"\\$`";
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_last = i + 1 == text.size();
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    const bool escapes =
        c == '\\' && !is_last && (quote == 0 || (quote == '"' && kEscapedInQuotes.contains(text[i + 1])));
    if (escapes) {
      *word += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      *word += c;
    }
  }
  if (quote != 0) return refuse("--entrypoint", text, std::string{"an end of the quotation that "} + quote + " begins");
  if (word) words.push_back(std::move(*word));
  return words;
}

Result<std::optional<UserIds>> parse_run_as(std::string_view text) {
  if (text == "image") return std::nullopt;
  const auto parts = split(text, ':');
  UserIds ids;
  if (parts.size() > 2 || !read_number(parts.front(), ids.user) || !read_number(parts.back(), ids.group)) {
    return refuse("--run-as", text, "image, UID or UID:GID, as 1000:1000");
  }
  return ids;
}

Result<json> parse_toleration(std::string_view text) {
  if (text == "*") return json{{"operator", "Exists"}};
  const std::size_t colon = text.rfind(':');
  const std::string_view effect = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const std::string_view what = text.substr(0, colon);
  const std::size_t equals = what.find('=');
  const bool known = effect.empty() || effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
  if (what.substr(0, equals).empty() || !known || (colon != std::string_view::npos && effect.empty())) {
    return refuse("--toleration", text, "KEY[=VALUE][:NoSchedule|PreferNoSchedule|NoExecute], or * for all");
  }
  json toleration{{"key", what.substr(0, equals)}, {"operator", equals == std::string_view::npos ? "Exists" : "Equal"}};
  if (equals != std::string_view::npos) toleration["value"] = what.substr(equals + 1);
  if (!effect.empty()) toleration["effect"] = effect;
  return toleration;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  if (!read_number(text, port) || port == 0) return refuse("--port", text, "a port from 1 to 65535");
  return port;
}

Result<std::string> parse_cidr(std::string_view text) {
  if (!is_cidr(text)) return refuse("--allow", text, "a CIDR, as 203.0.113.7/32");
  return std::string{text};
}

Result<std::vector<std::string>> parse_network(std::string_view text) {
  constexpr std::string_view kPrefix = "cidr=";
  if (text == "open" || text == "deny" || text == "dns") return std::vector<std::string>{};
  std::vector<std::string> cidrs;
  if (text.starts_with(kPrefix)) {
    for (const std::string_view cidr : split(text.substr(kPrefix.size()), ',')) {
      if (!is_cidr(cidr)) return refuse("--network", cidr, "a CIDR, as 10.0.0.0/8");
      cidrs.emplace_back(cidr);
    }
    return cidrs;
  }
  return refuse("--network", text, "open, deny, dns or cidr=CIDR[,CIDR...]");
}

Result<std::pair<std::string, std::string>> parse_quota(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || !looks_like_quantity(text.substr(equals + 1))) {
    return refuse("--quota", text, "RESOURCE=QUANTITY, as limits.cpu=4 or pods=10");
  }
  return std::pair{std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)}};
}

Result<> check_amounts(const std::string& text, std::string_view flag) {
  SKIFF_TRY_VOID(parse_amounts(text, flag));
  return {};
}

Result<> check_bytes(const std::string& text, std::string_view flag) {
  SKIFF_TRY_VOID(parse_amounts(text, flag));
  // In Kubernetes, m means a thousandth of a byte; users may mean a megabyte.
  if (text.contains('m')) return refuse(flag, text, "an amount as 512Mi or 2Gi");
  return {};
}

Result<> check_env_from(const Texts& texts, std::string_view flag) {
  return each_parses<parse_env_from>(texts, flag);
}

Result<> check_seccomp(const std::string& text, std::string_view flag) {
  return parses<parse_seccomp>(text, flag);
}

Result<> check_tolerations(const Texts& texts, std::string_view flag) {
  return each_parses<parse_toleration>(texts, flag);
}

Result<> check_absolute(const std::string& path, std::string_view flag) {
  if (!path.starts_with('/')) return refuse(flag, path, "an absolute path");
  return {};
}

Result<> check_overrides(const std::string& text, std::string_view flag) {
  if (text.empty() || json::parse(text, nullptr, false).is_object()) return {};
  const std::string name{flag};
  return fail(Errc::invalid_field, name + ": expected the fields of a Pod's spec, as `tolerations: [...]`", name);
}

Result<> check_pod_options(const PodOptions& options) {
  SKIFF_TRY_VOID(check_each_pod_option([&](const auto& option) -> Result<> {
    if (option.check == nullptr) return {};
    return option.check(options.*option.member, option.flag_text());
  }));
  SKIFF_TRY_VOID(check_dialects(options));
  if (!options.quota.empty() && !options.namespace_per_sandbox) {
    return fail(Errc::invalid_field, "--quota limits the sandbox's own namespace: add --namespace-per-sandbox",
                "--quota");
  }
  if (options.wait_address && options.service != ServiceKind::loadbalancer) {
    return fail(Errc::invalid_field, "--wait-address waits for the address of --service loadbalancer: add that flag",
                "--wait-address");
  }
  if (options.agent_port == 0) return refuse("--agent-port", "0", "a port from 1 to 65535");
  for (const std::string& port : options.ports) {
    if (parse_port(port) != options.agent_port) continue;
    return fail(Errc::invalid_field, "--port " + port + " is the agent's own: move the agent with `--agent-port`",
                "--port");
  }
  return {};
}

Result<> refuse_pod_options(const PodOptions& options, std::string_view driver) {
  return check_each_pod_option([&](const auto& option) -> Result<> {
    if (option.is_for_all || option.is_of_any_driver || option.is_default(options)) return {};
    const std::string flag = option.flag_text();
    return fail(Errc::invalid_field,
                flag + " is for sandboxes in a cluster: the " + std::string{driver} + " driver has nothing like it",
                flag);
  });
}

}  // namespace skiff::container
