#include "container/egress/policy.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes/hex.hpp"
#include "base/bytes/sha.hpp"
#include "base/small_file.hpp"
#include "container/egress/host_name.hpp"
#include "container/host/state_directory.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
constexpr std::size_t kDigitsOfGeneration = 12;
constexpr std::size_t kShownOfRule = 300;
constexpr std::string_view kPlain = "http://";
constexpr std::string_view kEveryName = "*";

}  // namespace

Result<Policy::Rule> Policy::Rule::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid_field,
                "--egress \"" + protocol::to_valid_utf8(text.substr(0, kShownOfRule)) + "\": " + why, "--egress");
  };
  std::string_view host{text};
  Rule rule{.host = {}, .port = kHttpsPort};
  if (host.starts_with(kPlain)) {
    rule = {.host = {}, .port = kHttpPort, .is_plain = true};
    host.remove_prefix(kPlain.size());
  }
  if (host.contains("://")) {
    return refuse("expected a name, such as pypi.org, and not a URL; http://pypi.org is for requests without TLS");
  }
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    const auto port = port_number(host.substr(colon + 1));
    if (!port) return refuse("expected HOST or HOST:PORT with a port of 1 to 65535");
    rule.port = *port;
    host = host.substr(0, colon);
  }
  if (host == kEveryName) {
    rule.host = kEveryName;
    return rule;
  }
  const bool is_wildcard = host.starts_with("*.");
  if (is_wildcard) host.remove_prefix(2);
  auto name = host_name(host);
  if (!name) {
    return refuse(
        "expected a DNS name, or *. before one for every name below it; addresses cannot be named, and Unicode only "
        "as xn--");
  }
  if (!name->contains('.')) {
    return refuse(is_wildcard ? "a wildcard needs two labels or more behind its star: *.example.com"
                              : "expected a whole name with its domain");
  }
  rule.host = (is_wildcard ? "." : "") + *name;
  return rule;
}

bool Policy::Rule::is_of(std::string_view name) const {
  if (host == kEveryName) return true;
  return host.starts_with('.') ? name.size() > host.size() && name.ends_with(host) : name == host;
}

std::string Policy::Rule::text() const {
  const std::string name = std::string{is_plain ? kPlain : ""} + (host.starts_with('.') ? "*" : "") + host;
  return port == (is_plain ? kHttpPort : kHttpsPort) ? name : name + ":" + std::to_string(port);
}

Result<Policy> Policy::parse(std::span<const std::string> rules) {
  if (rules.size() > kMostRules) {
    return fail(Errc::invalid_field, "--egress: at most " + std::to_string(kMostRules) + " rules", "--egress");
  }
  Policy policy;
  for (const std::string& text : rules) {
    SKIFF_TRY(auto rule, Rule::parse(text));
    policy.rules_.push_back(std::move(rule));
  }
  std::ranges::sort(policy.rules_);
  const auto repeated = std::ranges::unique(policy.rules_);
  policy.rules_.erase(repeated.begin(), repeated.end());
  policy.generation_ = to_hex(Sha256::of(nlohmann::json(policy.rules()).dump())).substr(0, kDigitsOfGeneration);
  return policy;
}

Result<Policy> Policy::load(const std::filesystem::path& file) {
  SKIFF_TRY(const auto text, read_small_file(file, kLargestFile));
  auto policy = parse_json(text);
  if (!policy) policy.error().message = "\"" + file.string() + "\": " + policy.error().message;
  return policy;
}

Result<Policy> Policy::parse_json(std::string_view text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  const bool is_list = value.is_array() && std::ranges::all_of(value, [](const auto& one) { return one.is_string(); });
  if (!is_list) return fail(Errc::invalid_field, "not a JSON array of rules");
  return parse(value.get<std::vector<std::string>>());
}

Result<Policy> Policy::after(std::span<const std::string> current, const std::optional<std::vector<std::string>>& rules,
                             std::span<const std::string> added, std::span<const std::string> removed) {
  if (rules) return parse(*rules);
  SKIFF_TRY(auto policy, parse(current));
  for (const std::string& text : removed) {
    SKIFF_TRY(const auto rule, Rule::parse(text));
    const auto found = std::ranges::find(policy.rules_, rule);
    if (found == policy.rules_.end()) {
      std::string known;
      for (const std::string& one : current) known += " " + one;
      return fail(Errc::invalid_field, "--egress -" + rule.text() + ": there is no such rule; the rules are:" + known,
                  "--egress");
    }
    policy.rules_.erase(found);
  }
  std::vector<std::string> all = policy.rules();
  all.insert(all.end(), added.begin(), added.end());
  return parse(all);
}

Result<> Policy::save(const std::filesystem::path& file) const {
  return write_private_file(file, nlohmann::json(rules()).dump() + "\n");
}

bool Policy::allows(std::string_view host, std::uint16_t port, bool is_plain) const {
  return find(host, port, is_plain) != nullptr;
}

std::string Policy::rule_of(std::string_view host, std::uint16_t port, bool is_plain) const {
  const Rule* const rule = find(host, port, is_plain);
  return rule == nullptr ? std::string{} : rule->text();
}

std::string Policy::wildcard_of(std::string_view host, std::uint16_t port, bool is_plain) const {
  const Rule* const rule = find(host, port, is_plain);
  return rule == nullptr || !rule->host.starts_with('.') ? std::string{} : "*" + rule->host;
}

const Policy::Rule* Policy::find(std::string_view host, std::uint16_t port, bool is_plain) const {
  const Rule* found = nullptr;
  for (const Rule& rule : rules_) {
    if (rule.port != port || rule.is_plain != is_plain || !rule.is_of(host)) continue;
    if (rule.host == host) return &rule;
    if (found == nullptr || found->host == kEveryName) found = &rule;
  }
  return found;
}

bool Policy::names(std::string_view host) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.is_of(host); });
}

std::vector<Target> Policy::targets_of(const std::string& host) const {
  std::vector<Target> targets;
  for (const Rule& rule : rules_) {
    if (rule.is_of(host)) targets.push_back({.host = host, .port = rule.port, .is_plain = rule.is_plain});
  }
  return targets;
}

std::vector<std::string> Policy::rules() const {
  std::vector<std::string> texts;
  texts.reserve(rules_.size());
  for (const Rule& rule : rules_) texts.push_back(rule.text());
  return texts;
}

}  // namespace skiff::container::egress
