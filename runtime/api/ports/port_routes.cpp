#include "runtime/api/ports/port_routes.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "protocol/http/forward.hpp"
#include "protocol/http/server/relay.hpp"
#include "protocol/http/server/server_names.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/ports/local_server.hpp"
#include "runtime/auth/own_fields.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::HttpClient;
using protocol::Upgraded;
using std::chrono::milliseconds;

constexpr std::string_view kPorts = "/v1/ports/";
constexpr int kPartsBefore = 3;  ///< parts of the path up to the port
/// The Host that development servers accept, and that a local client would send.
constexpr std::string_view kLocalHost = "localhost";

Result<> check_request(const Call& call, std::uint16_t port) {
  SKIFF_TRY_VOID(check_port(call, port));
  // Where no credential is required, check the origin: a foreign page has no credential, but would need none.
  if (call.identity.anonymous) {
    SKIFF_TRY_VOID(call.agent.access.browser_guard.judge(BrowserHead::of(call.http), BrowserGuard::Checks::origin));
  }
  return {};
}

protocol::Headers fields_for(Call& call, std::uint16_t port) {
  const auto& request = call.http.request();
  const std::string peer = protocol::peer_host(call.http.peer());
  const std::string prefix = std::string{kPorts} + std::to_string(port);
  protocol::Headers fields = protocol::forwarded_request(
      request,
      {.name = call.agent.instance, .peer = peer, .scheme = call.http.is_tls() ? "https" : "http", .prefix = prefix});
  remove_own_fields(fields, call.agent.access.authenticator);
  return fields;
}

/// A page of an allowed origin has the agent's permission to read the answer: a second one would void it.
void leave_out_permission(protocol::Headers& answer, const protocol::Headers& own) {
  if (!own.contains("Access-Control-Allow-Origin")) return;
  for (const std::string_view name : {"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"}) {
    answer.remove(name);
  }
}

protocol::HttpClientOptions server_on(const Agent& agent, std::uint16_t port) {
  const milliseconds connect_time = std::min<milliseconds>(kPortConnectTime, agent.settings.port_timeout);
  return {
      .host = std::string{kLocalHost},
      .port = port,
      .dial = [port, executor = agent.executor](milliseconds limit) { return connect_to_port(port, limit, executor); },
      .connect_time = connect_time,
      .idle_time = agent.settings.write_timeout,
      .read_idle_time = protocol::kForever,
      .bare_feeds = true};
}

Task<> carry_upgraded(Agent* agent, std::optional<WallTime> ends, Upgraded client, Upgraded server) {
  const OpenSocket open{agent->connections, agent->activity};
  const protocol::TunnelLimits limits{.stall = agent->settings.write_timeout, .silent = agent->settings.port_timeout};
  co_await protocol::carry(std::move(client), std::move(server), limits, ends);
}

}  // namespace

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0 || port > 65'535) {
    return fail(Errc::invalid_field, "port must be a number from 1 to 65535", "port");
  }
  return static_cast<std::uint16_t>(port);
}

Result<> check_port(const Call& call, std::uint16_t port) {
  if (std::ranges::count(call.agent.connections.own_ports, port) > 0) {
    return fail(Errc::invalid_field, "port " + std::to_string(port) + " is the agent's own", "port");
  }
  if (protocol::has_passed(call.http.request().headers, call.agent.instance)) {
    return fail(Errc::invalid_request, "the request has passed through this agent before: its server sends it back");
  }
  return {};
}

Task<Result<>> pass_to_port(Call& call) {
  SKIFF_CO_TRY(const auto port, parse_port(call.params.at(0)));
  SKIFF_CO_TRY_VOID(check_request(call, port));

  protocol::HttpClientOptions to_server = server_on(call.agent, port);
  protocol::Headers fields = fields_for(call, port);
  const protocol::ServerNames names{call.http.request(), fields, protocol::host_field(to_server)};
  names.tell_server(fields);
  HttpClient server{call.agent.executor, std::move(to_server)};
  const auto ends = call.identity.expires;
  protocol::RelayOptions options{.answer_time = call.agent.settings.port_timeout,
                                 .probe_idle = std::chrono::ceil<std::chrono::seconds>(call.agent.settings.keepalive),
                                 .ends = ends,
                                 .change_answer =
                                     [names, own = &call.http.extra_headers()](protocol::Headers& answer) {
                                       names.tell_client(answer);
                                       leave_out_permission(answer, *own);
                                     },
                                 .upgraded =
                                     [agent = &call.agent, ends](Upgraded client, Upgraded behind) {
                                       return carry_upgraded(agent, ends, std::move(client), std::move(behind));
                                     }};
  HttpClient::Request request{.method = call.http.request().method,
                              .target = protocol::target_behind(call.http.request(), kPartsBefore),
                              .headers = std::move(fields),
                              .body = {}};
  co_return co_await protocol::relay(&call.http, &server, std::move(request), std::move(options));
}

}  // namespace skiff::runtime::api
