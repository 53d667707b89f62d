#include "runtime/dialects/python_runtime/execute_request.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes/text.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

using nlohmann::json;

/// Whether the type is application/json or application/ANYTHING+json.
bool is_json_type(std::string_view content_type) {
  std::string type{trimmed(content_type.substr(0, content_type.find(';')))};
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
}

/// The value as Python's float() converts it; nothing: it cannot.
std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = trimmed(value.get_ref<const std::string&>());
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<ExecuteRequest> read_execute_request(std::optional<std::string_view> content_type, std::string_view body,
                                            std::size_t max_bytes) {
  if (content_type && !content_type->empty() && !is_json_type(*content_type)) {
    return fail(Errc::invalid_field, "the body must be JSON and say so: Content-Type: application/json");
  }
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; body.starts_with(kMark)) body.remove_prefix(kMark.size());
  SKIFF_TRY(auto parsed, protocol::parse_json(body, {.max_bytes = max_bytes, .takes_repeated_keys = true}));
  if (!parsed.is_object()) return fail(Errc::invalid_field, "the body must be a JSON object");

  ExecuteRequest request;
  const auto command = parsed.find("command");
  if (command == parsed.end()) return fail(Errc::missing_field, "command is required", "command");
  if (!command->is_string()) return fail(Errc::invalid_field, "command must be a string", "command");
  request.command = std::move(command->get_ref<std::string&>());
  const auto timeout = parsed.find("timeout_seconds");
  if (timeout == parsed.end()) return request;
  request.knows_timeouts = true;
  if (timeout->is_null()) return request;
  request.timeout_seconds = number_of(*timeout);
  if (request.timeout_seconds.value_or(0) > 0) return request;
  return fail(Errc::invalid_field, "timeout_seconds must be a number above 0", "timeout_seconds");
}

}  // namespace skiff::runtime::dialects::python_runtime
