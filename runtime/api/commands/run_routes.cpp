#include "runtime/api/commands/run_routes.hpp"

#include "protocol/service/body.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/commands/log_stream.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/api/sockets/socket_routes.hpp"

namespace skiff::runtime::api {
namespace {

/// Applies the query parameters `cwd` and `timeout_ms` of /v1/run and /v1/shell to a command request.
Result<> apply_query(const Call& call, CommandRequest& request) {
  if (const auto cwd = call.query("cwd")) request.cwd = std::string{*cwd};
  SKIFF_TRY(auto timeout, call.query_number("timeout_ms", kLongestTime));
  if (timeout) {
    if (*timeout == 0) return fail(Errc::invalid_field, "timeout_ms must be at least 1", "timeout_ms");
    request.timeout = Milliseconds{static_cast<std::int64_t>(*timeout)};
  }
  return {};
}

bool has_json_body(const Call& call) {
  return protocol::same_text(protocol::service::media_type(call.http.request().headers.get("Content-Type")),
                             "application/json");
}

}  // namespace

Task<Result<>> run_script(Call& call) {
  SKIFF_CO_TRY(auto session, call.session(call.query("session").value_or(sessions::Registry::kDefault)));
  SKIFF_CO_TRY(auto body, co_await call.http.read_body(has_json_body(call) ? call.agent.settings.max_json_bytes
                                                                           : call.agent.settings.max_script_bytes));
  call.body = std::move(body);
  CommandRequest request;
  if (has_json_body(call)) {
    SKIFF_CO_TRY(request, call.decode<CommandRequest>());
  } else {
    if (call.body.empty()) co_return fail(Errc::missing_field, "the body is the script to run, and it is empty");
    request.command = std::move(call.body);
  }
  SKIFF_CO_TRY_VOID(apply_query(call, request));
  SKIFF_CO_TRY(auto form, stream_form(call.http.request().headers.get("Accept"), StreamForm::octets));
  SKIFF_CO_TRY(auto started, co_await start(call, session, &request));
  LogStream options;
  options.form = form;
  options.lossless = true;
  options.announce = true;
  options.kill_on_disconnect = request.on_disconnect == OnDisconnect::kill;
  co_return co_await stream_log(call, started.command, options);
}

Task<Result<>> open_shell(Call& call) {
  SKIFF_CO_TRY(auto session, call.session(call.query("session").value_or(sessions::Registry::kDefault)));
  CommandRequest request;
  SKIFF_CO_TRY_VOID(apply_query(call, request));
  SKIFF_CO_TRY(auto cols, call.query_number("cols", 10000));
  SKIFF_CO_TRY(auto rows, call.query_number("rows", 10000));
  request.tty = sessions::TerminalSize{.cols = static_cast<std::uint16_t>(cols.value_or(0)),
                                       .rows = static_cast<std::uint16_t>(rows.value_or(0))};
  if (const auto command = call.query("command")) {
    request.command = std::string{*command};
  } else {
    request.argv = std::vector<std::string>{session->spec().shell.value_or(call.agent.settings.shell), "-i"};
  }
  co_return co_await serve_terminal(call, session, std::move(request));
}

}  // namespace skiff::runtime::api
