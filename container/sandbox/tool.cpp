#include "container/sandbox/tool.hpp"

#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "container/agent/answer.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Runs the tool from one directory; nullopt if the directory does not have it.
Task<Result<std::optional<json>>> run_from(AgentClient* agent, const ToolCall* call, std::string directory) {
  const std::string text = call->arguments.dump();
  const json request{{"argv", json::array({directory + "/" + call->tool})},
                     {"stdin", text},
                     {"env", {{"SKIFF_TOOL_ARGS", text}}},
                     {"timeout_ms", call->timeout.count()}};
  SKIFF_CO_TRY(auto ended, co_await agent->post("/v1/commands", request.dump()));
  AgentAnswer result{ended, "the result of a command"};
  const bool is_run = result.text("cause") != "spawn_failed";
  const bool is_missing = result.text("error/errno") == "ENOENT";
  const std::string why = result.text("error/message");
  SKIFF_CO_TRY_VOID(result.check());
  if (is_run) co_return ended;
  if (is_missing) co_return std::nullopt;
  co_return fail(Errc::permission_denied, "tool \"" + call->tool + "\" can't be run: " + why, "tool");
}

Result<json> answer_of(const ToolCall& call, const Sandbox& sandbox, const json& ended) {
  const auto detail = [&](const char* key) {
    const auto found = sandbox.details.find(key);
    return found == sandbox.details.end() ? json{} : json(found->second);
  };
  json answer{{"tool", call.tool},
              {"arguments", call.arguments},
              {"sandbox_id", sandbox.id},
              {"pod", detail("pod")},
              {"cluster_ip", detail("cluster_ip")}};
  AgentAnswer result{ended, "the result of a command"};
  const std::string said = result.text("stdout");
  const auto exit_code = result.number("exit_code");
  const std::string cause = result.text("cause");
  const std::string errors = result.text("stderr");
  SKIFF_TRY_VOID(result.check());
  json value = json::parse(said, nullptr, false);
  answer["result"] = value.is_discarded() ? json(said) : std::move(value);
  const bool is_ok = exit_code == 0U;
  answer["status"] = is_ok ? "ok" : "error";
  if (!is_ok) {
    answer["exit_code"] = exit_code ? json(*exit_code) : json{};
    answer["cause"] = cause;
    answer["stderr"] = errors;
  }
  return answer;
}

}  // namespace

Task<Result<json>> call_tool(Driver* driver, ToolCall call) {
  if (call.tool.empty() || call.tool.contains('/') || call.tool.starts_with('.')) {
    co_return fail(Errc::invalid_field, "\"" + call.tool + "\" is not the name of a tool: expected that of a file",
                   "tool");
  }
  SKIFF_CO_TRY(auto sandbox, co_await driver->get(call.sandbox));
  if (sandbox.state != SandboxState::running) co_return std::unexpected{not_running(sandbox)};
  SKIFF_CO_TRY(auto endpoint, co_await driver->endpoint(call.sandbox, {.scope = "read exec"}));
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  std::string searched;
  for (const std::string& directory : call.directories) {
    SKIFF_CO_TRY(auto ended, co_await run_from(&agent, &call, directory));
    if (ended) co_return answer_of(call, sandbox, *ended);
    searched += (searched.empty() ? "" : ", ") + directory;
  }
  co_return fail(Errc::path_not_found,
                 "sandbox \"" + call.sandbox + "\" has no tool \"" + call.tool + "\" in " + searched, "tool");
}

}  // namespace skiff::container
