#include <algorithm>
#include <array>

#include "runtime/api/agent/agent_routes.hpp"
#include "runtime/api/agent/init.hpp"
#include "runtime/api/agent/telemetry_routes.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/commands/run_routes.hpp"
#include "runtime/api/file_routes.hpp"
#include "runtime/api/openapi/operations.hpp"
#include "runtime/api/ports/port_routes.hpp"
#include "runtime/api/route.hpp"
#include "runtime/api/sessions/session_routes.hpp"
#include "runtime/api/sockets/socket_routes.hpp"
#include "runtime/dialects/mcp/routes.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::string_view kTimeParameter = R"({"type":"integer","minimum":0,"maximum":31536000000})";  // kLongestTime
constexpr std::string_view kSizeParameter = R"({"type":"integer","minimum":0,"maximum":10000})";
constexpr std::string_view kIdParameter = R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})";

constexpr std::string_view kStateParameter =
    R"({"title":"CommandState","type":"string","enum":["starting","running","ended"]})";
constexpr std::string_view kUntilParameter = R"({"title":"LastEvent","type":"string","enum":["exit","end"]})";

constexpr std::array kPageQuery{
    QueryParameter{"limit", "Items in one answer, 1 to 1000; default 100",
                   R"({"type":"integer","minimum":1,"maximum":1000})"},
    QueryParameter{"cursor", "next_cursor of the answer before",
                   R"({"type":"string","pattern":"^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$"})"},
};
constexpr std::array kSessionListQuery{
    kPageQuery[0],
    kPageQuery[1],
    QueryParameter{.name = "label",
                   .help = "key=value; all that are given must match",
                   .schema = R"({"type":"string","pattern":"^[^=]+="})",
                   .repeated = true},
};
constexpr std::array kCommandListQuery{
    kPageQuery[0],
    kPageQuery[1],
    QueryParameter{"state", "Only those in this state", kStateParameter},
};
constexpr std::array kPurgeQuery{QueryParameter{"purge", "Delete its root directory too", kFlagParameter}};
constexpr std::array kWaitQuery{
    QueryParameter{"wait_ms", "Answer when it has ended, or after this long", kTimeParameter}};
constexpr std::array kStartQuery{
    QueryParameter{"until", "Mode stream: end with the exit event, or with the end of all pipes", kUntilParameter}};
constexpr std::array kOutputQuery{
    QueryParameter{"from", "Offset to begin at; default 0", kNumberParameter},
    QueryParameter{"limit_bytes", "Stop after this many bytes", kNumberParameter},
    QueryParameter{"follow", "Go on until the command has ended", kFlagParameter},
    QueryParameter{"stream", "Only one stream",
                   R"({"title":"OutputSelection","type":"string","enum":["stdout","stderr","both"]})"},
    QueryParameter{"lossless", "Hold the command up rather than lose a byte: needs the scope exec", kFlagParameter},
    QueryParameter{"until", "With follow: end with the exit event, or with the end of all pipes", kUntilParameter},
};
constexpr std::array kStdinQuery{
    QueryParameter{"eof", "End of file after these bytes", kFlagParameter},
    QueryParameter{"offset", "Where the bytes belong: what was taken before is skipped", kNumberParameter},
};
constexpr std::array kRunQuery{
    QueryParameter{"cwd", "Working directory, relative to the session's"},
    QueryParameter{"timeout_ms", "End the tree after this long",
                   R"({"type":"integer","minimum":1,"maximum":31536000000})"},
    QueryParameter{"session", "Id of the session; default: default", kIdParameter},
};
constexpr std::array kShellQuery{
    kRunQuery[0],
    kRunQuery[1],
    kRunQuery[2],
    QueryParameter{"cols", "Columns; default 80", kSizeParameter},
    QueryParameter{"rows", "Rows; default 24", kSizeParameter},
    QueryParameter{"command", "What to run instead of an interactive shell"},
};
constexpr std::array kAttachQuery{
    kOutputQuery[0],
    kOutputQuery[4],
    QueryParameter{"until", "Close after the exit event, or after the end of all pipes", kUntilParameter},
};
constexpr std::array kRunSocketQuery{
    QueryParameter{.name = "command", .help = "A line for the session's shell", .required = true},
    QueryParameter{"id", "The client's id: started at most once", kIdParameter},
    kRunQuery[0],
    kRunQuery[1],
    QueryParameter{"stdin_open", "Keep stdin open for stdin frames", kFlagParameter},
    QueryParameter{"tty", "Run on a pseudo-terminal", kFlagParameter},
    kOutputQuery[0],
    kOutputQuery[4],
    kAttachQuery[2],
};

constexpr std::array kRoutes{
    Route{.method = "GET",
          .path = "/",
          .operation_id = "introduce",
          .summary = "What this is, and where its API is described",
          .tag = "agent",
          .is_use = false,
          .handler = introduce,
          .describe = describe_introduction},
    Route{.method = "GET",
          .path = "/healthz",
          .operation_id = "healthz",
          .summary = "Whether the agent is alive",
          .tag = "agent",
          .is_use = false,
          .handler = healthz,
          .describe = describe_status},
    Route{.method = "GET",
          .path = "/readyz",
          .operation_id = "readyz",
          .summary = "Whether the agent takes work: 503 while it drains",
          .tag = "agent",
          .is_use = false,
          .handler = readyz,
          .describe = describe_status},
    Route{.method = "GET",
          .path = "/openapi.json",
          .operation_id = "openapi",
          .summary = "This document",
          .tag = "agent",
          .is_use = false,
          .handler = show_openapi,
          .describe = describe_openapi},
    Route{.method = "GET",
          .path = "/asyncapi.json",
          .operation_id = "asyncapi",
          .summary = "What goes over WebSockets and streams, as an AsyncAPI document",
          .tag = "agent",
          .is_use = false,
          .handler = show_asyncapi,
          .describe = describe_asyncapi},
    Route{.method = "GET",
          .path = "/v1/version",
          .operation_id = "showVersion",
          .summary = "Version and instance of the agent",
          .tag = "agent",
          .scope = Scope::read,
          .handler = show_version,
          .describe = describe_version},
    Route{.method = "GET",
          .path = "/v1/capabilities",
          .operation_id = "showCapabilities",
          .summary = "What the kernel allows, limits, subprotocols",
          .tag = "agent",
          .scope = Scope::read,
          .handler = show_capabilities,
          .describe = describe_capabilities},

    Route{.method = "GET",
          .path = "/metrics",
          .operation_id = "metrics",
          .summary = "What the agent counts, for Prometheus",
          .tag = "agent",
          .scope = Scope::read,
          .is_use = false,
          .handler = show_metrics,
          .describe = describe_metrics},
    Route{.method = "GET",
          .path = "/v1/stats",
          .operation_id = "showStats",
          .summary = "What the container uses and may use",
          .tag = "agent",
          .scope = Scope::read,
          .is_use = false,
          .handler = show_stats,
          .describe = describe_stats},
    Route{.method = "GET",
          .path = "/v1/ports",
          .operation_id = "listPorts",
          .summary = "Listening TCP sockets, and whose they are",
          .tag = "agent",
          .scope = Scope::read,
          .is_use = false,
          .handler = list_ports,
          .describe = describe_ports},
    Route{.method = kAnyMethod,
          .path = "/v1/ports/{port}/{path}",
          .operation_id = "Port",
          .summary = "Pass the request on to the server on a port, and its answer back",
          .tag = "ports",
          .scope = Scope::ports,
          .body = Body::stream,
          .while_draining = false,
          .handler = pass_to_port,
          .describe = describe_port},
    Route{.method = "GET",
          .path = "/v1/activity",
          .operation_id = "showActivity",
          .summary = "Whether the sandbox is in use, and until when it lives",
          .tag = "agent",
          .scope = Scope::read,
          .is_use = false,
          .handler = show_activity,
          .describe = describe_activity},
    Route{.method = "POST",
          .path = "/v1/init",
          .operation_id = "initialise",
          .summary = "Bind a warm sandbox to its purpose, once",
          .tag = "agent",
          .scope = Scope::admin,
          .body = Body::json,
          .while_draining = false,
          .handler = initialise,
          .describe = describe_init},
    Route{.method = "POST",
          .path = "/v1/lease",
          .operation_id = "renewLease",
          .summary = "Say how long the sandbox may live, and be idle",
          .tag = "agent",
          .scope = Scope::admin,
          .body = Body::json,
          .while_draining = false,
          .handler = renew_lease,
          .describe = describe_lease},

    Route{.method = "POST",
          .path = "/v1/run",
          .operation_id = "runScript",
          .summary = "Run the body as a shell script; its output comes as bytes, its exit in trailers",
          .tag = "front door",
          .scope = Scope::exec,
          .body = Body::stream,
          .while_draining = false,
          .handler = run_script,
          .query = kRunQuery,
          .describe = describe_run},
    Route{.method = "GET",
          .path = "/v1/shell",
          .operation_id = "openShell",
          .summary = "An interactive terminal",
          .tag = "front door",
          .scope = Scope::exec,
          .websocket = true,
          .while_draining = false,
          .handler = open_shell,
          .query = kShellQuery,
          .describe = describe_shell},
    Route{.method = "GET",
          .path = "/v1/connect",
          .operation_id = "connect",
          .summary = "Any number of commands over one WebSocket",
          .tag = "commands",
          .scope = Scope::read,
          .websocket = true,
          .while_draining = false,
          .handler = connect},

    Route{.method = "POST",
          .path = "/v1/sessions",
          .operation_id = "createSession",
          .summary = "Create a session",
          .tag = "sessions",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_session,
          .describe = describe_create_session},
    Route{.method = "GET",
          .path = "/v1/sessions",
          .operation_id = "listSessions",
          .summary = "List sessions",
          .tag = "sessions",
          .scope = Scope::read,
          .handler = list_sessions,
          .query = kSessionListQuery,
          .describe = describe_session_list},
    Route{.method = "PUT",
          .path = "/v1/sessions/{sid}",
          .operation_id = "putSession",
          .summary = "Create a session, or answer the one that was created with the same request",
          .tag = "sessions",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = put_session,
          .describe = describe_put_session},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}",
          .operation_id = "showSession",
          .summary = "Show a session",
          .tag = "sessions",
          .scope = Scope::read,
          .handler = show_session,
          .describe = describe_session},
    Route{.method = "PATCH",
          .path = "/v1/sessions/{sid}",
          .operation_id = "patchSession",
          .summary = "Change labels, timeouts, limits, environment or cwd",
          .tag = "sessions",
          .scope = Scope::exec,
          .body = Body::json,
          .handler = patch_session,
          .describe = describe_patch_session},
    Route{.method = "DELETE",
          .path = "/v1/sessions/{sid}",
          .operation_id = "deleteSession",
          .summary = "End every command of a session, then forget it",
          .tag = "sessions",
          .scope = Scope::exec,
          .handler = delete_session,
          .query = kPurgeQuery,
          .describe = describe_delete_session},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/processes",
          .operation_id = "listProcesses",
          .summary = "Every process of the session's commands",
          .tag = "sessions",
          .scope = Scope::read,
          .handler = list_processes,
          .describe = describe_process_list},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/wait",
          .operation_id = "waitFor",
          .summary = "Wait until something ends, listens, exists or is printed",
          .tag = "sessions",
          .scope = Scope::read,
          .body = Body::json,
          .while_draining = false,
          .handler = wait_for_condition,
          .describe = describe_wait},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/run",
          .operation_id = "runAttached",
          .summary = "Start a command from the URL and attach to it",
          .tag = "commands",
          .scope = Scope::exec,
          .websocket = true,
          .while_draining = false,
          .handler = run_attached,
          .query = kRunSocketQuery,
          .describe = describe_run_socket},

    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/commands",
          .operation_id = "startCommand",
          .summary = "Start a command: wait for it, stream it, or leave it in the background",
          .tag = "commands",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = start_command,
          .query = kStartQuery,
          .describe = describe_start_command},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/commands",
          .operation_id = "listCommands",
          .summary = "List commands",
          .tag = "commands",
          .scope = Scope::read,
          .handler = list_commands,
          .query = kCommandListQuery,
          .describe = describe_command_list},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/commands/{cid}",
          .operation_id = "showCommand",
          .summary = "Show a command, at once or when it has ended",
          .tag = "commands",
          .scope = Scope::read,
          .handler = show_command,
          .query = kWaitQuery,
          .describe = describe_command},
    Route{.method = "DELETE",
          .path = "/v1/sessions/{sid}/commands/{cid}",
          .operation_id = "deleteCommand",
          .summary = "End a command's tree and forget it",
          .tag = "commands",
          .scope = Scope::exec,
          .handler = delete_command,
          .describe = describe_delete_command},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/commands/{cid}/output",
          .operation_id = "readOutput",
          .summary = "A command's log from an offset on",
          .tag = "commands",
          .scope = Scope::read,
          .handler = read_output,
          .query = kOutputQuery,
          .describe = describe_stream},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/commands/{cid}/stdin",
          .operation_id = "writeStdin",
          .summary = "Write bytes to a command's stdin; waits until it has taken them",
          .tag = "commands",
          .scope = Scope::exec,
          .body = Body::stream,
          .handler = write_stdin,
          .query = kStdinQuery,
          .describe = describe_write_stdin},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/commands/{cid}/signal",
          .operation_id = "signalCommand",
          .summary = "Send a signal, and something stronger if that does not help",
          .tag = "commands",
          .scope = Scope::exec,
          .body = Body::json,
          .handler = signal_command,
          .describe = describe_signal},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/commands/{cid}/resize",
          .operation_id = "resizeCommand",
          .summary = "Change the size of a command's terminal",
          .tag = "commands",
          .scope = Scope::exec,
          .body = Body::json,
          .handler = resize_command,
          .describe = describe_resize},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/commands/{cid}/attach",
          .operation_id = "attach",
          .summary = "Attach to a command at any offset",
          .tag = "commands",
          .scope = Scope::read,
          .websocket = true,
          .handler = attach,
          .query = kAttachQuery,
          .describe = describe_attach},
};

/// What is told to a CONNECT: the methods that RFC 9110 and RFC 5789 name.
constexpr std::string_view kPassedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE";

/// A last part that takes everything that is left, slashes included: a file's path.
constexpr std::string_view kRestOfPath = "{path}";

/// A route's path in its parts.
struct Template {
  const Route* route = nullptr;
  std::vector<std::string_view> parts;
  bool takes_rest = false;

  explicit Template(const Route& one) : route{&one}, takes_rest{one.path.ends_with(kRestOfPath)} {
    for (std::string_view path = one.path; !path.empty();) {
      path.remove_prefix(1);
      const std::size_t slash = std::min(path.find('/'), path.size());
      parts.push_back(path.substr(0, slash));
      path.remove_prefix(slash);
    }
  }

  [[nodiscard]] bool fits(const std::vector<std::string>& segments) const {
    if (takes_rest ? segments.size() < parts.size() : segments.size() != parts.size()) return false;
    const std::size_t compared = parts.size() - (takes_rest ? 1 : 0);
    for (std::size_t i = 0; i < compared; ++i) {
      if (parts[i].starts_with('{') ? segments[i].empty() : parts[i] != segments[i]) return false;
    }
    return true;
  }

  /// What stands for `{...}` in segments that fit.
  [[nodiscard]] std::vector<std::string> parameters(const std::vector<std::string>& segments) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].starts_with('{')) found.push_back(segments[i]);
    }
    if (takes_rest) {
      for (std::size_t i = parts.size(); i < segments.size(); ++i) found.back().append(1, '/').append(segments[i]);
    }
    return found;
  }
};

/// `/v1/commands...`, `/v1/files...` are short for the default session's.
bool is_short(const std::vector<std::string>& segments) {
  if (segments.size() < 2 || segments[0] != "v1") return false;
  return segments[1] == "commands" || segments[1] == "files" || segments[1].starts_with("files:");
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> rows{kRoutes.begin(), kRoutes.end()};
    for (const auto more : {file_routes(), mcp::routes()}) rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return table;
}

Match match(std::string_view method, const std::vector<std::string>& asked) {
  std::vector<std::string> longer;
  const bool is_abbreviated = is_short(asked);
  if (is_abbreviated) {
    longer = {"v1", "sessions", std::string{sessions::Registry::kDefault}};
    longer.insert(longer.end(), asked.begin() + 1, asked.end());
  }
  const auto& segments = is_abbreviated ? longer : asked;
  Match found;
  static const std::vector<Template> templates{routes().begin(), routes().end()};
  for (const Template& one : templates) {
    if (!one.fits(segments)) continue;
    const Route& route = *one.route;
    const bool wanted = (route.passes_on() && method != "CONNECT") || route.method == method ||
                        (method == "HEAD" && route.method == "GET" && !route.websocket);
    if (wanted) {
      found.route = &route;
      found.params = one.parameters(segments);
      return found;
    }
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += route.passes_on() ? kPassedMethods : route.method;
    if (route.method == "GET" && !route.websocket) found.allow += ", HEAD";
  }
  return found;
}

}  // namespace skiff::runtime::api
