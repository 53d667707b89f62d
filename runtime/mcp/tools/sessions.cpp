#include "protocol/json/text.hpp"
#include "runtime/api/answers/schema_parts.hpp"
#include "runtime/api/openapi/answer_schemas.hpp"
#include "runtime/api/sessions/session_routes.hpp"
#include "runtime/mcp/tools/command_arguments.hpp"
#include "runtime/mcp/tools/tools.hpp"

namespace skiff::runtime::mcp {
namespace {

Task<Result<std::string>> create_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<CreateSessionArguments>(arguments));
  api::SessionRequest wanted;
  wanted.id = std::move(asked.id);
  wanted.root = std::move(asked.root);
  wanted.cwd = std::move(asked.cwd);
  wanted.env = std::move(asked.env);
  wanted.shell.stateful = asked.stateful;
  wanted.idle_timeout = asked.idle_timeout;
  SKIFF_CO_TRY(auto spec, wanted.spec());
  SKIFF_CO_TRY_VOID(require_rule_over(request->caller.identity, spec.id));
  SKIFF_CO_TRY(auto session, co_await request->agent.registry.create(std::move(spec)));
  std::string text;
  api::append_session(text, request->agent, *session);
  co_return text;
}

Task<Result<std::string>> list_those_allowed(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY_VOID(protocol::decode_json<NoArguments>(arguments));
  std::string text{R"({"items":[)"};
  for (const auto& session : request->agent.registry.sessions()) {
    if (!require_session(request->caller.identity, session->id())) continue;
    if (text.back() != '[') text += ',';
    api::append_session(text, request->agent, *session);
  }
  co_return text + "]}";
}

Task<Result<std::string>> delete_one(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<SessionArguments>(arguments));
  SKIFF_CO_TRY_VOID(require_rule_over(request->caller.identity, asked.session));
  SKIFF_CO_TRY_VOID(co_await request->agent.registry.erase(asked.session, false));
  std::string text{'{'};
  protocol::append_json_text(text, "deleted", asked.session);
  co_return text + '}';
}

constexpr std::array kSessionTools{
    Tool{
        .name = "create_session",
        .title = "Create a session",
        .description =
            "Create a session: a workspace with its own directory, environment and shell state. Give its id as session "
            "to the other tools. In a stateful session `cd` and `export` last from command to command.",
        .scope = Scope::exec,
        .input = +[] { return protocol::json_schema<CreateSessionArguments>(); },
        .output = +[] { return api::session_answer().schema().json; },
        .run = create_one},
    Tool{.name = "list_sessions",
         .title = "List sessions",
         .description = "List the sessions that this credential may use, with their roots and working directories.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = +[] { return protocol::json_schema<NoArguments>(); },
         .output = +[] { return api::session_list_schema().json; },
         .run = list_those_allowed},
    Tool{.name = "delete_session",
         .title = "Delete a session",
         .description = "End every command of a session and forget it. Its files stay.",
         .scope = Scope::exec,
         .destructive = true,
         .input = +[] { return protocol::json_schema<SessionArguments>(); },
         .output = +[] { return api::object({{"deleted", api::kId}}); },
         .run = delete_one},
};

}  // namespace

std::span<const Tool> session_tools() {
  return kSessionTools;
}

}  // namespace skiff::runtime::mcp
