#include "container/egress/terminate/injection.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "container/egress/passing.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Headers;

/// A field by which some servers take another method than that of the request.
constexpr std::array kOtherMethods =
    std::to_array<std::string_view>({"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"});
constexpr std::string_view kBasic = "Basic ";

/// In names `_` counts as `-`: some servers cannot tell them apart.
bool is_same_field(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto dashed = [i](std::string_view name) { return name[i] == '_' ? '-' : name[i]; };
    if (!protocol::same_text(std::string{dashed(one)}, std::string{dashed(other)})) return false;
  }
  return true;
}

/// The pair of a field `Authorization: Basic`; nullopt for another value.
std::optional<std::string> pair_of(std::string_view value) {
  if (!protocol::same_text(value.substr(0, kBasic.size()), kBasic)) return std::nullopt;
  return protocol::decode_base64(value.substr(kBasic.size()));
}

/// The text with the value in place of the first placeholder, which it has.
std::string replaced(std::string text, std::string_view placeholder, std::string_view value) {
  return text.replace(text.find(placeholder), placeholder.size(), value);
}

/// The value of the secret's field in place of the placeholder, and what else could be echoed then. It is put in once:
/// a head that repeats a short placeholder of a long secret would become one of megabytes.
Injected fill_in(const Secret& secret, const Headers& fields) {
  Injected made{.fields = {}, .traces = secret.traces()};
  bool is_done = false;
  for (const auto [name, value] : fields) {
    const auto pair = pair_of(value);
    const bool is_in_pair = pair && pair->contains(secret.placeholder);
    if (is_done || !is_same_field(name, secret.header) || !(is_in_pair || value.contains(secret.placeholder))) {
      made.fields.add(name, value);
      continue;
    }
    is_done = true;
    if (!is_in_pair) {
      made.fields.add(name, replaced(std::string{value}, secret.placeholder, secret.value));
      continue;
    }
    std::string whole = protocol::encode_base64(replaced(*pair, secret.placeholder, secret.value));
    made.fields.add(name, std::string{kBasic} + whole);
    // An echo may lack the padding.
    whole.erase(whole.find_last_not_of('=') + 1);
    made.traces.push_back(std::move(whole));
  }
  return made;
}

}  // namespace

Injected inject(const Secret& secret, const protocol::HttpRequest& request) {
  Headers fields = fields_for_server(request, secret.websocket);
  std::vector<std::string> dropped;
  // A part of an answer, or an encoded one, could hide the secret.
  if (secret.has_value()) dropped = {"Range", "If-Range"};
  for (const auto [name, value] : fields) {
    const bool is_method = !secret.requests.empty() && std::ranges::any_of(kOtherMethods, [&](std::string_view other) {
      return is_same_field(name, other);
    });
    if (is_method || (!secret.replaces && is_same_field(name, secret.header))) dropped.emplace_back(name);
  }
  for (const std::string& name : dropped) fields.remove(name);
  if (!secret.has_value()) return {.fields = std::move(fields), .traces = {}};
  fields.set("Accept-Encoding", "identity");
  if (secret.replaces) return fill_in(secret, fields);
  fields.add(secret.header, secret.injected());
  return {.fields = std::move(fields), .traces = secret.traces()};
}

bool has_placeholder(const protocol::HttpRequest& request, std::string_view placeholder) {
  if (request.target_text.contains(placeholder)) return true;
  return std::ranges::any_of(request.headers, [&](const auto& field) {
    const auto& [name, value] = field;
    if (value.contains(placeholder)) return true;
    const auto pair = pair_of(value);
    return pair && pair->contains(placeholder);
  });
}

}  // namespace skiff::container::egress
