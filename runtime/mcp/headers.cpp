#include "runtime/mcp/headers.hpp"

#include "base/bytes/text.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "runtime/mcp/revision.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr std::string_view kMethodField = "Mcp-Method";
constexpr std::string_view kNameField = "Mcp-Name";
constexpr const char* kCapabilitiesMeta = "io.modelcontextprotocol/clientCapabilities";

/// Decodes a value: one that cannot be in a header field is sent as =?base64?...?=.
std::optional<std::string> decoded(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?";
  if (!value.starts_with(kBegin) || !value.ends_with("?=") || value.size() < kBegin.size() + 2) {
    return std::string{value};
  }
  return protocol::decode_base64(value.substr(kBegin.size(), value.size() - kBegin.size() - 2));
}

std::unexpected<RpcError> mismatch(std::string_view field, std::string why) {
  return std::unexpected{RpcError{RpcCode::header_mismatch, "the header " + std::string{field} + ' ' + std::move(why)}};
}

}  // namespace

bool accepts(const protocol::Headers& headers, std::string_view type) {
  if (!headers.contains("Accept")) return true;
  for (const auto& [name, value] : headers) {
    if (!protocol::same_text(name, "Accept")) continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      const std::string_view range = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      const std::string_view wanted = trimmed(range.substr(0, range.find(';')));
      if (wanted == "*/*" || protocol::same_text(wanted, type)) return true;
      if (wanted.ends_with("/*") &&
          protocol::same_text(wanted.substr(0, wanted.size() - 1), type.substr(0, type.find('/') + 1))) {
        return true;
      }
    }
  }
  return false;
}

bool is_stateless(const protocol::Headers& headers, const Message& message) {
  if (!message.meta(kRevisionMeta).is_null()) return true;
  const auto revision = find_revision(headers.get(kVersionField));
  return revision && *revision >= Revision::v2026_07_28 && message.method != "initialize";
}

RpcError unsupported_revision(std::string_view asked) {
  std::string data = R"({"supported":)" + revision_list();
  protocol::append_json_text(data, "requested", asked);
  return {RpcCode::unsupported_version, "this revision of the protocol is not known here", data + '}'};
}

RpcResult<void> check_headers(const protocol::Headers& headers, const Message& message) {
  const nlohmann::json revision = message.meta(kRevisionMeta);
  if (!revision.is_string() || !message.meta(kCapabilitiesMeta).is_object()) {
    return std::unexpected{RpcError{
        RpcCode::invalid_params, std::string{"params._meta must have "} + kRevisionMeta + " and " + kCapabilitiesMeta}};
  }
  const auto agrees = [&](std::string_view field, const std::string& body, bool encoded) -> RpcResult<void> {
    if (headers.count(field) > 1) return mismatch(field, "is repeated");
    const auto value = headers.find(field);
    if (!value) return mismatch(field, "is missing");
    const auto given = encoded ? decoded(*value) : std::string{*value};
    if (!given || *given != body) return mismatch(field, "differs from the body");
    return {};
  };
  SKIFF_TRY_VOID(agrees(kVersionField, revision.get<std::string>(), false));
  SKIFF_TRY_VOID(agrees(kMethodField, message.method, false));
  const bool has_name = message.method == "tools/call" || message.method == "prompts/get";
  if (has_name || message.method == "resources/read") {
    SKIFF_TRY_VOID(agrees(kNameField, message.text(has_name ? "name" : "uri"), true));
  }
  const auto known = find_revision(revision.get<std::string>());
  if (!known || *known < Revision::v2026_07_28) {
    return std::unexpected{unsupported_revision(revision.get<std::string>())};
  }
  return {};
}

}  // namespace skiff::runtime::mcp
