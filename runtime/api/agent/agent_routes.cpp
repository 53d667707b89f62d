#include "runtime/api/agent/agent_routes.hpp"

#include "base/kernel_features.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/route.hpp"
#include "runtime/version.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_flag;
using protocol::append_json_key;
using protocol::append_json_number;
using protocol::append_json_text;

}  // namespace

Task<Result<>> introduce(Call& call) {
  const bool needs_token = !call.agent.settings.allow_unauthenticated;
  std::string text{'{'};
  append_json_text(text, "name", "skiffd");
  append_json_text(text, "version", kVersion);
  append_json_text(text, "summary", "Runs commands for AI agents in this container, over HTTP and WebSocket.");
  append_json_text(text, "openapi", "/openapi.json");
  append_json_flag(text, "needs_token", needs_token);
  if (needs_token) append_json_text(text, "send", "Authorization: Bearer TOKEN");
  text += '}';
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> healthz(Call& call) {
  co_return co_await call.json(200, R"({"status":"ok"})");
}

Task<Result<>> readyz(Call& call) {
  if (call.agent.draining) {
    call.http.extra_headers().set("Retry-After", "1");
    co_return fail(Errc::draining, "the agent is stopping");
  }
  co_return co_await call.json(200, R"({"status":"ready"})");
}

Task<Result<>> show_version(Call& call) {
  std::string text{'{'};
  append_json_text(text, "name", "skiffd");
  append_json_text(text, "version", kVersion);
  append_json_text(text, "api", "v1");
  append_json_text(text, "instance", call.agent.instance);
  append_json_text(text, "sandbox_id", call.agent.settings.sandbox_id);
  append_json_key(text, "labels");
  protocol::append_json(text, call.agent.labels);
  text += '}';
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_capabilities(Call& call) {
  const auto& kernel = kernel_features();
  const Settings& settings = call.agent.settings;
  std::string text{'{'};
  append_json_key(text, "kernel");
  text += '{';
  append_json_flag(text, "pidfd", kernel.pidfd);
  append_json_flag(text, "close_range", kernel.close_range);
  append_json_flag(text, "clone3", kernel.clone3);
  append_json_flag(text, "openat2", kernel.openat2);
  append_json_number(text, "landlock_abi", static_cast<std::uint64_t>(kernel.landlock_abi));
  text += '}';
  append_json_key(text, "isolation");
  text += '[';
  for (const sessions::Isolation level : sessions::offered_isolation()) {
    if (text.back() != '[') text += ',';
    text.append(1, '"').append(name(level)).append(1, '"');
  }
  text += ']';
  append_json_key(text, "kill");
  text += R"({"level":"tree","daemons":true})";
  append_json_key(text, "limits");
  text += '{';
  append_json_number(text, "max_commands", settings.max_commands);
  append_json_number(text, "max_sessions", settings.max_sessions);
  append_json_number(text, "max_connections", settings.max_connections);
  append_json_number(text, "max_json_bytes", settings.max_json_bytes);
  append_json_number(text, "max_frame_bytes", settings.max_frame_bytes);
  append_json_number(text, "keep_bytes", settings.keep_bytes);
  append_json_number(text, "max_output_bytes", settings.max_output_bytes);
  append_json_number(text, "output_memory", settings.output_memory);
  append_json_flag(text, "spool", !settings.data_dir.empty());
  text += '}';
  append_json_key(text, "command_limits");
  text += R"(["cpu_time_ms","open_files","file_size_bytes")";
  for (const std::string_view limit : call.agent.supervisor.cgroups.offered())
    text.append(",\"").append(limit).append(1, '"');
  text += ']';
  append_json_key(text, "session_shells");
  text += R"({"stateful":true})";
  append_json_key(text, "subprotocols");
  text += R"(["skiff.v1.json","skiff.v1.binary"])";
  append_json_key(text, "dialects");
  text += R"(["mcp")";
  for (const std::string_view dialect : call.agent.requests.dialects())
    text.append(",\"").append(dialect).append(1, '"');
  text += "]}";
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_openapi(Call& call) {
  // Made when it is first asked for, which takes longer than the reactor may be held.
  static const std::string* made = nullptr;
  if (made == nullptr) made = co_await call.agent.long_work.run([] { return &openapi_document(); });
  co_return co_await call.json(200, *made);
}

Task<Result<>> show_asyncapi(Call& call) {
  static const std::string* made = nullptr;  // as above
  if (made == nullptr) made = co_await call.agent.long_work.run([] { return &asyncapi_document(); });
  co_return co_await call.json(200, *made);
}

}  // namespace skiff::runtime::api
