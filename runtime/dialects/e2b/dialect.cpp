#include "runtime/dialects/e2b/dialect.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"
#include "runtime/dialects/e2b/agent_routes.hpp"
#include "runtime/dialects/e2b/code/code_routes.hpp"
#include "runtime/dialects/e2b/connect_error.hpp"
#include "runtime/dialects/e2b/files/files.hpp"
#include "runtime/dialects/e2b/files/filesystem_service.hpp"
#include "runtime/dialects/e2b/files/watch_service.hpp"
#include "runtime/dialects/e2b/process_service.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::string_view kName = "e2b";
constexpr std::uint16_t kPort = 49983;

/// Whether the dialect checks the token before it calls the handler, the handler checks it, or neither does.
enum class Check : std::uint8_t { token, own, none };

using Row = protocol::service::Route<Task<Result<>> (*)(Call* call), Check>;

template <UnaryHandler kHandler>
Task<Result<>> unary(Call* call) {
  return serve_unary(call, kHandler);
}
template <StreamHandler kHandler>
Task<Result<>> stream(Call* call) {
  return serve_stream(call, kHandler);
}

constexpr std::array kRows{
    Row{.method = "GET", .path = "/health", .scope = Check::none, .handler = tell_health},
    Row{.method = "POST", .path = "/init", .scope = Check::own, .handler = initialise},
    Row{.method = "GET", .path = "/metrics", .handler = tell_metrics},
    Row{.method = "GET", .path = "/envs", .handler = tell_envs},
    Row{.method = "GET", .path = "/files", .scope = Check::own, .handler = send_file},
    Row{.method = "POST", .path = "/files", .scope = Check::own, .handler = take_files},
    Row{.method = "POST", .path = "/execute", .handler = execute_code},
    Row{.method = "GET", .path = "/contexts", .handler = tell_contexts},
    Row{.method = "POST", .path = "/contexts", .handler = create_context},
    Row{.method = "DELETE", .path = "/contexts/{id}", .handler = remove_context},
    Row{.method = "POST", .path = "/contexts/{id}/restart", .handler = restart_context},
    Row{.method = "POST", .path = "/process.Process/Start", .handler = stream<start_process>},
    Row{.method = "POST", .path = "/process.Process/Connect", .handler = stream<connect_process>},
    Row{.method = "POST", .path = "/process.Process/StreamInput", .handler = stream<stream_input>},
    Row{.method = "POST", .path = "/process.Process/List", .handler = unary<list_processes>},
    Row{.method = "POST", .path = "/process.Process/Update", .handler = unary<update_process>},
    Row{.method = "POST", .path = "/process.Process/SendInput", .handler = unary<send_input>},
    Row{.method = "POST", .path = "/process.Process/SendSignal", .handler = unary<send_signal>},
    Row{.method = "POST", .path = "/process.Process/CloseStdin", .handler = unary<close_stdin>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/Stat", .handler = unary<stat_entry>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/MakeDir", .handler = unary<create_dir>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/Move", .handler = unary<move_entry>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/ListDir", .handler = unary<list_dir>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/Remove", .handler = unary<remove_entry>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/WatchDir", .handler = stream<watch_dir>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/CreateWatcher", .handler = unary<create_watcher>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/GetWatcherEvents", .handler = unary<get_watcher_events>},
    Row{.method = "POST", .path = "/filesystem.Filesystem/RemoveWatcher", .handler = unary<remove_watcher>},
};

/// Creates the error response of /files, whose form every client also understands elsewhere. Its status is that of the
/// agent, except where E2B's clients would make a wrong exception of it.
protocol::HttpResponse problem(unsigned status, const Error& error) {
  if (status == 0) {
    constexpr std::array kBad{Errc::is_a_directory, Errc::not_a_directory, Errc::not_a_regular_file,
                              Errc::name_too_long};
    const bool is_bad = std::ranges::find(kBad, error.code) != kBad.end();
    status = error.code == Errc::user_not_found ? 401 : is_bad ? 400 : protocol::http_status(error.code);
  }
  protocol::HttpResponse response{status, {{"Content-Type", "application/json"}}, "{"};
  protocol::append_json_number(response.body, "code", status);
  protocol::append_json_text(response.body, "message", error.message);
  response.body += '}';
  return response;
}

/// The Python SDK appends a path to E2B_SANDBOX_URL unchanged, also to a URL that ends with a slash.
protocol::service::Segments segments(const protocol::Target& target) {
  std::string_view path = target.path;
  while (path.starts_with("//")) path.remove_prefix(1);
  return protocol::service::split_path(path);
}

Task<Result<>> handle(Request* request, State* state) {
  const Row& row = kRows[request->match.route];
  if (row.scope == Check::token) {
    SKIFF_CO_TRY(const bool is_known, state->access.check(request->http.request().headers));
    SKIFF_CO_TRY_VOID(request->http.mark_authenticated());
    request->caller.identity.anonymous = !is_known;
  }
  Call call{.request = *request, .state = *state};
  co_return co_await row.handler(&call);
}

constexpr HttpDialect kHttp{.name = kName,
                            .problem = &problem,
                            .segments = segments,
                            .probe = "/health",
                            .authenticates_itself = true,
                            .takes_coded = true};

std::unique_ptr<Service> open_service(Agent& agent) {
  const auto state = std::make_shared<State>(agent.settings);
  return http_service(agent, &kHttp, protocol::service::Router{kRows},
                      [state](Request* request) { return handle(request, state.get()); });
}

bool is_guarded(const Settings& settings) {
  return !settings.e2b_token_sha256.empty();
}

constexpr std::array kEndpoints{Endpoint{.speaks = "HTTP", .port = kPort, .open = &open_service}};
constexpr Dialect kDialect{.name = kName, .endpoints = kEndpoints, .is_guarded = &is_guarded};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::e2b
