#include "runtime/dialects/python_runtime/execute_request.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/dialects/python_runtime/answers.hpp"
#include "runtime/dialects/python_runtime/json_fault.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

using nlohmann::json;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// application/json and application/ANYTHING+json.
bool is_json_type(std::string_view content_type) {
  std::string type{trimmed(content_type.substr(0, content_type.find(';')))};
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
}

Finding not_an_object(std::string input) {
  return {.type = "model_attributes_type",
          .place = {},
          .text = "Input should be a valid dictionary or object to extract fields from",
          .input = std::move(input),
          .context = {}};
}

Finding not_json(std::string_view body) {
  const JsonFault fault = find_json_fault(body);
  std::string context{'{'};
  protocol::append_json_text(context, "error", fault.text);
  return {.type = "json_invalid",
          .place = {std::uint64_t{fault.position}},
          .text = "JSON decode error",
          .input = "{}",
          .context = context + '}'};
}

Finding wrong_timeout(std::string type, std::string text, const json& value, std::string context = {}) {
  return {.type = std::move(type),
          .place = {std::string{"timeout_seconds"}},
          .text = std::move(text),
          .input = value.dump(),
          .context = std::move(context)};
}

/// As pydantic's float outside of its strict mode: also what can be read as one.
std::expected<double, Finding> read_timeout(const json& value) {
  double seconds = 0;
  if (value.is_number()) {
    seconds = value.get<double>();
  } else if (value.is_boolean()) {
    seconds = value.get<bool>() ? 1 : 0;
  } else if (value.is_string()) {
    const std::string_view text = trimmed(value.get_ref<const std::string&>());
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
      return std::unexpected{
          wrong_timeout("float_parsing", "Input should be a valid number, unable to parse string as a number", value)};
    }
  } else {
    return std::unexpected{wrong_timeout("float_type", "Input should be a valid number", value)};
  }
  // So written, it refuses what is not a number, too.
  if (!(seconds > 0)) {
    return std::unexpected{wrong_timeout("greater_than", "Input should be greater than 0", value, R"({"gt":0.0})")};
  }
  return seconds;
}

}  // namespace

std::expected<ExecuteRequest, protocol::HttpResponse> read_execute_request(std::optional<std::string_view> content_type,
                                                                           std::string_view body,
                                                                           std::size_t max_bytes) {
  if (body.empty()) return std::unexpected{unprocessable({missing({}, "null")})};
  if (content_type && !content_type->empty() && !is_json_type(*content_type)) {
    std::string input;
    protocol::append_json_string(input, protocol::to_valid_utf8(body));
    return std::unexpected{unprocessable({not_an_object(std::move(input))})};
  }
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; body.starts_with(kMark)) body.remove_prefix(kMark.size());
  if (!protocol::is_valid_utf8(body)) return std::unexpected{detail(400, "There was an error parsing the body")};
  auto parsed = protocol::parse_json(body, {.max_bytes = max_bytes, .takes_repeated_keys = true});
  if (!parsed) {
    if (parsed.error().code == Errc::payload_too_large) return std::unexpected{problem(0, parsed.error())};
    return std::unexpected{unprocessable({not_json(body)})};
  }
  if (parsed->is_null()) return std::unexpected{unprocessable({missing({}, "null")})};
  if (!parsed->is_object()) return std::unexpected{unprocessable({not_an_object(parsed->dump())})};

  ExecuteRequest request;
  std::vector<Finding> findings;
  if (const auto command = parsed->find("command"); command == parsed->end()) {
    findings.push_back(missing({std::string{"command"}}, parsed->dump()));
  } else if (!command->is_string()) {
    findings.push_back({.type = "string_type",
                        .place = {std::string{"command"}},
                        .text = "Input should be a valid string",
                        .input = command->dump(),
                        .context = {}});
  } else {
    request.command = std::move(command->get_ref<std::string&>());
  }
  if (const auto timeout = parsed->find("timeout_seconds"); timeout != parsed->end()) {
    request.knows_timeouts = true;
    if (!timeout->is_null()) {
      auto seconds = read_timeout(*timeout);
      if (seconds) {
        request.timeout_seconds = *seconds;
      } else {
        findings.push_back(std::move(seconds.error()));
      }
    }
  }
  if (!findings.empty()) return std::unexpected{unprocessable(findings)};
  return request;
}

}  // namespace skiff::runtime::dialects::python_runtime
