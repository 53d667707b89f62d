#include "runtime/dialects/python_runtime/answers.hpp"

#include <utility>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::runtime::dialects::python_runtime {

using protocol::append_json_key;
using protocol::append_json_text;

protocol::HttpResponse message(unsigned status, std::string_view text) {
  std::string body{'{'};
  append_json_text(body, "message", text);
  return json_answer(status, body + '}');
}

protocol::HttpResponse unprocessable(const std::vector<Finding>& findings) {
  std::string body{R"({"detail":[)"};
  for (const Finding& finding : findings) {
    if (!body.ends_with('[')) body += ',';
    body += '{';
    append_json_text(body, "type", finding.type);
    append_json_key(body, "loc");
    body += R"(["body")";
    for (const auto& step : finding.place) {
      body += ',';
      if (const auto* name = std::get_if<std::string>(&step)) {
        protocol::append_json_string(body, *name);
      } else {
        protocol::append_json_integer(body, std::get<std::uint64_t>(step));
      }
    }
    body += ']';
    append_json_text(body, "msg", finding.text);
    append_json_key(body, "input");
    body += finding.input;
    if (!finding.context.empty()) {
      append_json_key(body, "ctx");
      body += finding.context;
    }
    body += '}';
  }
  return json_answer(422, body + "]}");
}

Finding missing(std::vector<std::variant<std::string, std::uint64_t>> place, std::string input) {
  return {
      .type = "missing", .place = std::move(place), .text = "Field required", .input = std::move(input), .context = {}};
}

protocol::HttpResponse problem(unsigned status, const Error& error) {
  return detail(status != 0 ? status : protocol::http_status(error.code), error.message);
}

protocol::HttpResponse path_refused(std::string_view doing, const Error& error) {
  if (error.code == Errc::path_escapes_root) return message(403, "Access denied");
  return message(protocol::http_status(error.code), std::string{doing} + ": " + error.message);
}

}  // namespace skiff::runtime::dialects::python_runtime
