#include "runtime/dialects/python_runtime/answers.hpp"

#include <string>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"

namespace skiff::runtime::dialects::python_runtime {

protocol::HttpResponse message(unsigned status, std::string_view text) {
  std::string body{'{'};
  protocol::append_json_text(body, "message", text);
  return json_answer(status, body + '}');
}

protocol::HttpResponse problem(unsigned status, const Error& error) {
  const bool is_of_body =
      error.code == Errc::malformed_json || error.code == Errc::missing_field || error.code == Errc::invalid_field;
  if (status == 0) status = is_of_body ? 422 : protocol::http_status(error.code);
  return detail(status, error);
}

protocol::HttpResponse path_refused(std::string_view doing, const Error& error) {
  if (error.code == Errc::path_escapes_root) return message(403, "Access denied");
  return message(protocol::http_status(error.code), std::string{doing} + ": " + error.message);
}

}  // namespace skiff::runtime::dialects::python_runtime
