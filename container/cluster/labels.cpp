#include "container/cluster/labels.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/bytes/sha.hpp"

namespace skiff::container::labels {
namespace {

constexpr std::size_t kLongest = 63;
constexpr std::size_t kHashDigits = 32;
constexpr std::string_view kManager = "skiff";
constexpr std::array<std::string_view, 4> kReserved{"skiff.dev", "kubernetes.io", "k8s.io", "x-k8s.io"};

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Checks the rule for both the values of labels and the names in their keys.
bool fits(std::string_view text) {
  return text.size() <= kLongest && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// True for the prefix of a label's name: words of a-z, 0-9 and -, separated by dots.
bool is_domain(std::string_view text) {
  return !text.empty() && text.size() <= 253 && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

/// True for domains whose labels have effects in Kubernetes or skiff.
bool is_reserved(std::string_view domain) {
  return std::ranges::any_of(kReserved, [domain](std::string_view one) {
    return domain == one || (domain.ends_with(one) && domain[domain.size() - one.size() - 1] == '.');
  });
}

std::string user_key(const std::string& name) {
  return is_raw(name) ? name : std::string{kUserPrefix} + name;
}

}  // namespace

std::string label_value(std::string_view value) {
  if (value.empty() || fits(value)) return std::string{value};
  return "h-" + to_hex(Sha256::of(value)).substr(0, kHashDigits);
}

bool is_ours(const kube::Object& object) {
  return object.label(kManagedBy) == kManager;
}

void put(kube::Object& object, std::string_view key, std::string_view value) {
  std::string short_value = label_value(value);
  if (short_value != value) object.json["metadata"]["annotations"][key] = value;
  object.json["metadata"]["labels"][key] = std::move(short_value);
}

std::string get(const kube::Object& object, std::string_view key) {
  std::string whole = object.annotation(key);
  return whole.empty() ? object.label(key) : whole;
}

void put_common(kube::Object& object, std::string_view component, std::string_view name, std::string_view owner) {
  put(object, kManagedBy, kManager);
  put(object, "app.kubernetes.io/name", "skiff");
  put(object, kComponent, component);
  if (!name.empty()) {
    put(object, "app.kubernetes.io/instance", name);
    put(object, kName, name);
  }
  if (!owner.empty()) put(object, kOwner, owner);
}

bool is_raw(std::string_view name) {
  return name.contains('/');
}

Result<> check_user_labels(const std::map<std::string, std::string>& wanted) {
  const auto refuse = [](const std::string& name, const std::string& why) {
    return fail(Errc::invalid_field, "--label \"" + name + "\": " + why, "--label");
  };
  for (const auto& [name, value] : wanted) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::string_view own = std::string_view{name}.substr(is_raw(name) ? slash + 1 : 0);
    if (own.empty() || !fits(own)) {
      return refuse(name, "expected a name of at most 63 letters, digits, -, _ and .");
    }
    if (!is_raw(name)) continue;
    const std::string_view prefix = std::string_view{name}.substr(0, slash);
    if (!is_domain(prefix)) return refuse(name, "expected a domain before the /, as example.org/team");
    if (is_reserved(prefix)) return refuse(name, "labels of " + std::string{prefix} + " are not for users");
    if (!value.empty() && !fits(value)) {
      return refuse(name, "a label with a prefix of its own takes at most 63 letters, digits, -, _ and . as its value");
    }
  }
  return {};
}

void put_user_labels(kube::Object& object, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, value] : wanted) put(object, user_key(name), value);
}

std::map<std::string, std::string> user_labels(const kube::Object& object) {
  std::map<std::string, std::string> found;
  for (const auto& [key, value] : object.texts({"metadata", "labels"})) {
    if (key.starts_with(kUserPrefix)) found[key.substr(kUserPrefix.size())] = get(object, key);
  }
  return found;
}

std::string selector(std::string_view component, const SandboxFilter& filter) {
  std::string text{kOurs};
  text.append(",").append(kComponent).append("=").append(component);
  if (filter.owner) text.append(",").append(kOwner).append("=").append(label_value(*filter.owner));
  for (const auto& [name, value] : filter.labels) {
    text.append(",").append(user_key(name)).append("=").append(label_value(value));
  }
  return text;
}

bool is_selected(const kube::Object& object, std::string_view component, const SandboxFilter& filter) {
  if (!is_ours(object) || object.label(kComponent) != component) return false;
  if (filter.owner && object.label(kOwner) != label_value(*filter.owner)) return false;
  return std::ranges::all_of(filter.labels, [&](const auto& label) {
    return object.find({"metadata", "labels", user_key(label.first)}) != nullptr &&
           object.label(user_key(label.first)) == label_value(label.second);
  });
}

}  // namespace skiff::container::labels
