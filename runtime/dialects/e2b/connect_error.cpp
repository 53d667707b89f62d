#include "runtime/dialects/e2b/connect_error.hpp"

#include "protocol/json/text.hpp"

namespace skiff::runtime::dialects::e2b {

ConnectCode connect_code(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_request:
    case Errc::invalid_field:
    case Errc::unknown_field:
    case Errc::missing_field:
    case Errc::malformed_json:
    case Errc::unsupported_media_type:
    case Errc::is_a_directory:
    case Errc::not_a_directory:
    case Errc::not_a_regular_file:
    case Errc::name_too_long:
    case Errc::too_many_links:
      return {"invalid_argument", 400};
    case Errc::unauthenticated:
    case Errc::user_not_found:
      return {"unauthenticated", 401};
    case Errc::cannot_switch_user:
    case Errc::insufficient_scope:
    case Errc::host_not_allowed:
    case Errc::origin_not_allowed:
    case Errc::path_escapes_root:
    case Errc::permission_denied:
      return {"permission_denied", 403};
    case Errc::not_found:
    case Errc::command_not_found:
    case Errc::command_forgotten:
    case Errc::command_ended:
    case Errc::path_not_found:
      return {"not_found", 404};
    case Errc::already_exists:
      return {"already_exists", 409};
    case Errc::stdin_closed:
    case Errc::not_a_terminal:
    case Errc::directory_not_empty:
    case Errc::in_use:
      return {"failed_precondition", 400};
    case Errc::too_many_commands:
    case Errc::egress_waiting:
    case Errc::resource_exhausted:
    case Errc::payload_too_large:
    case Errc::no_space:
      return {"resource_exhausted", 429};
    case Errc::range_not_satisfiable:
      return {"out_of_range", 400};
    case Errc::not_supported:
      return {"unimplemented", 501};
    case Errc::timeout:
    case Errc::request_timeout:
      return {"deadline_exceeded", 504};
    case Errc::cancelled:
      return {"canceled", 499};
    case Errc::draining:
      return {"unavailable", 503};
    default:
      return {"internal", 500};
  }
}

std::string connect_error(const Error& error) {
  std::string text{'{'};
  protocol::append_json_text(text, "code", connect_code(error.code).word);
  protocol::append_json_text(text, "message", error.message);
  return text + '}';
}

}  // namespace skiff::runtime::dialects::e2b
