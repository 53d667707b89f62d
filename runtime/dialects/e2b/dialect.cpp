#include "runtime/dialects/e2b/dialect.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"
#include "runtime/dialects/e2b/agent_routes.hpp"
#include "runtime/dialects/e2b/connect_error.hpp"
#include "runtime/dialects/e2b/files.hpp"
#include "runtime/dialects/e2b/filesystem_service.hpp"
#include "runtime/dialects/e2b/process_service.hpp"
#include "runtime/dialects/e2b/watch_service.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::string_view kName = "e2b";
constexpr std::uint16_t kPort = 49983;

/// Whether the token is asked for before the handler is called, or the handler sees to that.
enum class Check : std::uint8_t { token, own, none };

struct RouteRow {
  std::string_view method;  ///< GET: HEAD, too
  std::string_view path;
  Task<Result<>> (*handle)(Call* call);
  Check check = Check::token;
};

template <UnaryHandler kHandler>
Task<Result<>> unary(Call* call) {
  return serve_unary(call, kHandler);
}
template <StreamHandler kHandler>
Task<Result<>> stream(Call* call) {
  return serve_stream(call, kHandler);
}

constexpr std::array kRows{
    RouteRow{"GET", "/health", tell_health, Check::none},
    RouteRow{"POST", "/init", initialise, Check::own},
    RouteRow{"GET", "/metrics", tell_metrics},
    RouteRow{"GET", "/envs", tell_envs},
    RouteRow{"GET", "/files", send_file, Check::own},
    RouteRow{"POST", "/files", take_files, Check::own},
    RouteRow{"POST", "/process.Process/Start", stream<start_process>},
    RouteRow{"POST", "/process.Process/Connect", stream<connect_process>},
    RouteRow{"POST", "/process.Process/StreamInput", stream<stream_input>},
    RouteRow{"POST", "/process.Process/List", unary<list_processes>},
    RouteRow{"POST", "/process.Process/Update", unary<update_process>},
    RouteRow{"POST", "/process.Process/SendInput", unary<send_input>},
    RouteRow{"POST", "/process.Process/SendSignal", unary<send_signal>},
    RouteRow{"POST", "/process.Process/CloseStdin", unary<close_stdin>},
    RouteRow{"POST", "/filesystem.Filesystem/Stat", unary<stat_entry>},
    RouteRow{"POST", "/filesystem.Filesystem/MakeDir", unary<make_dir>},
    RouteRow{"POST", "/filesystem.Filesystem/Move", unary<move_entry>},
    RouteRow{"POST", "/filesystem.Filesystem/ListDir", unary<list_dir>},
    RouteRow{"POST", "/filesystem.Filesystem/Remove", unary<remove_entry>},
    RouteRow{"POST", "/filesystem.Filesystem/WatchDir", stream<watch_dir>},
    RouteRow{"POST", "/filesystem.Filesystem/CreateWatcher", unary<create_watcher>},
    RouteRow{"POST", "/filesystem.Filesystem/GetWatcherEvents", unary<get_watcher_events>},
    RouteRow{"POST", "/filesystem.Filesystem/RemoveWatcher", unary<remove_watcher>},
};

/// The form of /files, which every client reads a status from where it knows no better. Statuses are those of the
/// agent, but where E2B's clients make another exception of one.
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

Task<Result<>> handle(Request* request, State* state) {
  const auto& head = request->http.request();
  const std::string_view method = head.method == "HEAD" ? "GET" : std::string_view{head.method};
  // The Python SDK puts a path behind E2B_SANDBOX_URL as it is, also behind one that ends with a slash.
  std::string_view path = head.target.path;
  while (path.starts_with("//")) path.remove_prefix(1);
  const auto at_path = [path](const RouteRow& row) { return row.path == path; };
  const auto row = std::ranges::find_if(kRows, [&](const auto& one) { return at_path(one) && one.method == method; });
  if (row == kRows.end()) {
    const auto other = std::ranges::find_if(kRows, at_path);
    if (other == kRows.end()) co_return fail(Errc::not_found, "this path is not known here");
    request->route = other->path;
    request->http.extra_headers().set("Allow", other->path == "/files" ? "GET, HEAD, POST" : other->method);
    co_return fail(Errc::method_not_allowed, "this path takes " + std::string{other->method});
  }
  request->route = row->path;
  if (row->check == Check::token) {
    SKIFF_CO_TRY(const bool is_known, state->access.check(head.headers));
    SKIFF_CO_TRY_VOID(request->http.vouch());
    request->caller.identity.anonymous = !is_known;
  }
  Call call{.request = *request, .state = *state};
  co_return co_await row->handle(&call);
}

constexpr HttpDialect kHttp{.name = kName,
                            .handle = nullptr,
                            .problem = &problem,
                            .probe = "/health",
                            .vouches_itself = true,
                            .takes_coded = true};

std::unique_ptr<Service> open_service(Agent& agent) {
  const auto state = std::make_shared<State>(agent.settings);
  return http_service(agent, &kHttp, [state](Request* request) { return handle(request, state.get()); });
}

bool is_guarded(const Settings& settings) {
  return !settings.e2b_token_sha256.empty();
}

constexpr std::array kDoors{Door{.speaks = "HTTP", .port = kPort, .open = &open_service}};
constexpr Dialect kDialect{.name = kName, .doors = kDoors, .is_guarded = &is_guarded};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::e2b
