#include "runtime/dialects/e2b/code/code_routes.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/api/code/code_answer.hpp"
#include "runtime/api/code/code_routes.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using protocol::field;

/// The usual contexts of the dialect have names of their own: they run as the dialect's user.
constexpr std::string_view kGroup = "e2b-";

struct ExecuteMessage {
  std::string code;
  std::optional<std::string> context_id;
  std::optional<std::string> language;
  std::map<std::string, std::string> env_vars;

  static constexpr auto fields = std::tuple{
      field("code", &ExecuteMessage::code, "", {.text = protocol::Text::no_nul}),
      field("context_id", &ExecuteMessage::context_id, ""),
      field("language", &ExecuteMessage::language, ""),
      field("env_vars", &ExecuteMessage::env_vars, "",
            {.text = protocol::Text::no_nul, .keys = protocol::Text::env_name, .optional = true}),
  };
};

struct ContextMessage {
  std::optional<std::string> language;
  std::optional<std::string> cwd;

  static constexpr auto fields = std::tuple{
      field("language", &ContextMessage::language, ""),
      field("cwd", &ContextMessage::cwd, ""),
  };
};

Task<Result<std::string>> read_text(Call* call) {
  co_return co_await call->request.http.read_body(call->agent().settings.max_json_bytes);
}

/// The message in a body, whose unknown fields are ignored.
template <class T>
Result<T> message_in(const Call& call, std::string_view text) {
  std::vector<std::string> ignored;
  return protocol::decode<T>(text.empty() ? "{}" : text, {.max_bytes = call.agent().settings.max_json_bytes}, &ignored);
}

/// How the contexts of the dialect's clients are started, which is how its processes are.
Task<Result<api::CommandRequest>> context_start(Call* call, std::string cwd) {
  SKIFF_CO_TRY(auto context, co_await find_user(call, {}));
  api::CommandRequest how;
  SKIFF_CO_TRY(how.cwd, context.resolve(cwd));
  how.env["E2B_SANDBOX"] = "true";
  const std::string& home = call->agent().settings.e2b_home;
  if (!context.asker && !home.empty()) how.env["HOME"] = home;
  if (context.asker) how.user = context.user.name;
  co_return how;
}

std::string context_json(const api::CodeContext& context) {
  return protocol::to_json(api::shown(context));
}

Task<Result<>> answer_json(Call* call, unsigned status, std::string text) {
  co_return co_await call->request.http.respond(
      {status, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}, std::move(text)});
}

Result<api::CodeContexts::Pointer> context_of(Call* call) {
  SKIFF_TRY(auto session, call->agent().registry.find(sessions::Registry::kDefault));
  return call->agent().code_contexts.find(*session, call->request.match.parameters.at(0));
}

}  // namespace

Task<Result<>> execute_code(Call* call) {
  SKIFF_CO_TRY(const auto text, co_await read_text(call));
  SKIFF_CO_TRY(auto message, message_in<ExecuteMessage>(*call, text));
  SKIFF_CO_TRY(auto how, co_await context_start(call, {}));
  Agent& agent = call->agent();
  SKIFF_CO_TRY(auto session, agent.registry.find(sessions::Registry::kDefault));
  SKIFF_CO_TRY(auto context, agent.code_contexts.pick(session, message.context_id, message.language, std::move(how),
                                                      holder_of(call->request.caller.identity), kGroup));
  api::CodeCall wanted{.code = std::move(message.code),
                       .env = call->state.env,
                       .timeout = std::nullopt,
                       .token_end = call->request.caller.identity.expires,
                       .client = &call->request.http};
  for (auto& [name, value] : message.env_vars) wanted.env.insert_or_assign(name, std::move(value));
  api::CodeLinesAnswer answer{call->request.http, api::CodeLinesAnswer::Form::e2b};
  SKIFF_CO_TRY(auto end,
               co_await api::CodeContext::run(context, &agent, &call->request.caller, std::move(wanted), &answer));
  co_return co_await answer.finish(std::move(end));
}

Task<Result<>> tell_contexts(Call* call) {
  SKIFF_CO_TRY(auto session, call->agent().registry.find(sessions::Registry::kDefault));
  std::string text{'['};
  for (const auto& context : call->agent().code_contexts.of(*session)) {
    if (text.size() > 1) text += ',';
    text += context_json(*context);
  }
  co_return co_await answer_json(call, 200, text + ']');
}

Task<Result<>> create_context(Call* call) {
  SKIFF_CO_TRY(const auto text, co_await read_text(call));
  SKIFF_CO_TRY(auto message, message_in<ContextMessage>(*call, text));
  SKIFF_CO_TRY(auto how, co_await context_start(call, message.cwd.value_or("")));
  SKIFF_CO_TRY(auto session, call->agent().registry.find(sessions::Registry::kDefault));
  SKIFF_CO_TRY(auto context, call->agent().code_contexts.create(session, message.language.value_or(""), std::move(how),
                                                                holder_of(call->request.caller.identity)));
  co_return co_await answer_json(call, 200, context_json(*context));
}

Task<Result<>> remove_context(Call* call) {
  SKIFF_CO_TRY(auto context, context_of(call));
  call->agent().code_contexts.forget(*context);
  co_await api::CodeContext::close(context);
  co_return co_await answer_json(call, 200, "{}");
}

Task<Result<>> restart_context(Call* call) {
  SKIFF_CO_TRY(auto context, context_of(call));
  co_await api::CodeContext::restart(context);
  co_return co_await answer_json(call, 200, "{}");
}

}  // namespace skiff::runtime::dialects::e2b
