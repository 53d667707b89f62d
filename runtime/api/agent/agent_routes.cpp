#include "runtime/api/agent/agent_routes.hpp"

#include "base/kernel_features.hpp"
#include "protocol/http/page.hpp"
#include "runtime/api/route.hpp"
#include "runtime/version.hpp"

namespace skiff::runtime::api {
namespace {

using std::string_view;

const Answer<KernelFeatures>& kernel_answer() {
  using Kernel = KernelFeatures;
  static const Answer<Kernel> answer{"KernelFeatures",
                                     {{"pidfd", [](const Kernel& kernel) { return kernel.pidfd; }},
                                      {"close_range", [](const Kernel& kernel) { return kernel.close_range; }},
                                      {"clone3", [](const Kernel& kernel) { return kernel.clone3; }},
                                      {"openat2", [](const Kernel& kernel) { return kernel.openat2; }},
                                      {"landlock_abi", [](const Kernel& kernel) { return kernel.landlock_abi; }}}};
  return answer;
}

const Answer<Agent>& kill_answer() {
  static const Answer<Agent> answer{
      "KillLevel", {{"level", [](const Agent&) { return "tree"; }}, {"daemons", [](const Agent&) { return true; }}}};
  return answer;
}

const Answer<Settings>& limits_answer() {
  static const Answer<Settings> answer{
      {},
      {{"max_commands", [](const Settings& settings) { return settings.max_commands; }},
       {"max_sessions", [](const Settings& settings) { return settings.max_sessions; }},
       {"max_connections", [](const Settings& settings) { return settings.max_connections; }},
       {"max_json_bytes", [](const Settings& settings) { return settings.max_json_bytes; }},
       {"max_frame_bytes", [](const Settings& settings) { return settings.max_frame_bytes; }},
       {"keep_bytes", [](const Settings& settings) { return settings.keep_bytes; }},
       {"max_output_bytes", [](const Settings& settings) { return settings.max_output_bytes; }},
       {"output_memory", [](const Settings& settings) { return settings.output_memory; }},
       {"spool", [](const Settings& settings) { return !settings.data_dir.empty(); }}}};
  return answer;
}

const Answer<Agent>& shells_answer() {
  static const Answer<Agent> answer{"ShellFeatures", {{"stateful", [](const Agent&) { return true; }}}};
  return answer;
}

/// Appends `rest` to `first`.
std::vector<string_view> followed_by(std::vector<string_view> first, const std::vector<string_view>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::vector<string_view> isolation_levels() {
  std::vector<string_view> words;
  for (const sessions::Isolation level : sessions::offered_isolation()) words.push_back(name(level));
  return words;
}

}  // namespace

const Answer<Agent>& introduction_answer() {
  static const Answer<Agent> answer{
      "Introduction",
      {{"name", [](const Agent&) { return "skiffd"; }},
       {"version", [](const Agent&) { return kVersion; }},
       {"summary",
        [](const Agent&) { return "Runs commands for AI agents in this container, over HTTP and WebSocket."; }},
       {"openapi", [](const Agent&) { return "/openapi.json"; }},
       {"needs_token", [](const Agent& agent) { return !agent.settings.allow_unauthenticated; }},
       {"send", [](const Agent& agent) -> std::optional<string_view> {
          if (agent.settings.allow_unauthenticated) return std::nullopt;
          return "Authorization: Bearer TOKEN";
        }}}};
  return answer;
}

const Answer<Agent>& version_answer() {
  static const Answer<Agent> answer{
      "AgentVersion",
      {{"name", [](const Agent&) { return "skiffd"; }},
       {"version", [](const Agent&) { return kVersion; }},
       {"api", [](const Agent&) { return "v1"; }},
       {"instance", [](const Agent& agent) { return Id{agent.instance}; }},
       {"sandbox_id", [](const Agent& agent) { return string_view{agent.settings.sandbox_id}; }},
       {"labels", [](const Agent& agent) -> const auto& { return agent.labels; }}}};
  return answer;
}

const Answer<Agent>& capabilities_answer() {
  static const Answer<Agent> answer{
      "Capabilities",
      {{"kernel", [](const Agent&) { return Part<&kernel_answer>{kernel_features()}; }},
       {"isolation", [](const Agent&) { return isolation_levels(); }},
       {"kill", [](const Agent& agent) { return Part<&kill_answer>{agent}; }},
       {"limits",
        [](const Agent& agent) { return Part<&limits_answer>{agent.settings}; },
        {},
        [] { return std::string{R"({"type":"object"})"}; }},
       {"command_limits",
        [](const Agent& agent) {
          return followed_by({"cpu_time_ms", "open_files", "file_size_bytes"},
                             agent.supervisor.processes.cgroups.offered());
        }},
       {"session_shells", [](const Agent& agent) { return Part<&shells_answer>{agent}; }},
       {"subprotocols", [](const Agent&) { return std::vector<string_view>{"skiff.v1.json", "skiff.v1.binary"}; }},
       {"dialects", [](const Agent& agent) { return followed_by({"mcp"}, agent.dialects); }}}};
  return answer;
}

Task<Result<>> introduce(Call& call) {
  if (protocol::prefers_page(call.http.request())) {
    const bool is_open = call.agent.settings.allow_unauthenticated;
    protocol::Page page{.title = "skiffd " + std::string{kVersion},
                        .paragraphs = {"This is an agent that runs commands in a container. Programs use it over HTTP "
                                       "and WebSocket; it has no pages of its own.",
                                       is_open ? "It asks for no credential."
                                               : "Requests send its token: Authorization: Bearer TOKEN."},
                        .links = {{"/openapi.json", "The API (OpenAPI)"},
                                  {"/asyncapi.json", "The messages of WebSockets and streams (AsyncAPI)"},
                                  {"/healthz", "Whether it is alive"}}};
    auto response = protocol::page_answer(200, page);
    co_return co_await call.http.respond(std::move(response));
  }
  call.http.extra_headers().add("Vary", "Accept");
  co_return co_await call.json(200, introduction_answer().text(call.agent));
}

Task<Result<>> healthz(Call& call) {
  const auto& fence = call.agent.fence;
  if (!fence) co_return co_await call.json(200, R"({"status":"ok"})");
  co_return co_await call.json(200, R"({"status":"ok","egress":")" + std::string{fence->word()} + "\"}");
}

Task<Result<>> readyz(Call& call) {
  // Probes also check the limits: while no command starts, nothing else does.
  if (!call.agent.keep_limits().lost.empty() || call.agent.shutdown.draining()) {
    call.http.extra_headers().set("Retry-After", "1");
    co_return fail(Errc::draining, "the agent is stopping");
  }
  SKIFF_CO_TRY_VOID(call.agent.wait_for_fence());
  co_return co_await call.json(200, R"({"status":"ready"})");
}

Task<Result<>> show_version(Call& call) {
  co_return co_await call.json(200, version_answer().text(call.agent));
}

Task<Result<>> show_capabilities(Call& call) {
  co_return co_await call.json(200, capabilities_answer().text(call.agent));
}

Task<Result<>> show_openapi(Call& call) {
  // Create the document at the first request, on a thread: it takes longer than the reactor may be blocked.
  static const std::string* made = nullptr;
  if (made == nullptr) made = co_await call.agent.pools.long_work.run([] { return &openapi_document(); });
  co_return co_await call.json(200, *made);
}

Task<Result<>> show_asyncapi(Call& call) {
  static const std::string* made = nullptr;  // as above
  if (made == nullptr) made = co_await call.agent.pools.long_work.run([] { return &asyncapi_document(); });
  co_return co_await call.json(200, *made);
}

}  // namespace skiff::runtime::api
