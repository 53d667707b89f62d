#include "runtime/api/code/code_routes.hpp"

#include <utility>

#include "protocol/json/schema.hpp"
#include "runtime/api/code/code_answer.hpp"
#include "runtime/api/commands/log_stream.hpp"

namespace skiff::runtime::api {
namespace {

Result<CodeContexts::Pointer> context_of(const Call& call) {
  SKIFF_TRY(auto session, call.session());
  return call.agent.code_contexts.find(*session, call.params.at(1));
}

}  // namespace

CodeContextShown shown(const CodeContext& context) {
  std::string command = context.command();
  return {.id = context.id(),
          .language = std::string{context.language().name},
          .cwd = context.cwd(),
          .command = command.empty() ? std::nullopt : std::optional{std::move(command)}};
}

Task<Result<>> run_code(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto request, call.decode<CodeRequest>());
  SKIFF_CO_TRY(auto context,
               call.agent.code_contexts.pick(session, request.context, request.language, {}, holder_of(call.identity)));
  const Caller caller{call.identity, call.request_id, call.traceparent};
  CodeCall wanted{.code = std::move(request.code),
                  .env = std::move(request.env),
                  .timeout = request.timeout,
                  .token_end = call.identity.expires,
                  .client = &call.http};
  if (request.mode == CodeMode::stream) {
    CodeLinesAnswer answer{call.http, CodeLinesAnswer::Form::own};
    SKIFF_CO_TRY(auto end, co_await CodeContext::run(context, &call.agent, &caller, std::move(wanted), &answer));
    co_return co_await answer.finish(std::move(end));
  }
  CodeCollector collected{&call.http, static_cast<std::size_t>(request.max_output_bytes)};
  SKIFF_CO_TRY(auto end, co_await CodeContext::run(context, &call.agent, &caller, std::move(wanted), &collected));
  co_return co_await answer_json(call, collected.begun(), 200, collected.text(end));
}

Task<Result<>> list_code_contexts(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  CodeContextList list;
  for (const auto& context : call.agent.code_contexts.of(*session)) list.items.push_back(shown(*context));
  co_return co_await call.json(200, protocol::to_json(list));
}

Task<Result<>> create_code_context(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto request, call.decode<CodeContextRequest>());
  CommandRequest how;
  how.cwd = std::move(request.cwd);
  SKIFF_CO_TRY(auto context, call.agent.code_contexts.create(session, request.language.value_or(""), std::move(how),
                                                             holder_of(call.identity)));
  co_return co_await call.json(201, protocol::to_json(shown(*context)));
}

Task<Result<>> delete_code_context(Call& call) {
  SKIFF_CO_TRY(auto context, context_of(call));
  call.agent.code_contexts.forget(*context);
  co_await CodeContext::close(context);
  co_return co_await call.no_content();
}

Task<Result<>> restart_code_context(Call& call) {
  SKIFF_CO_TRY(auto context, context_of(call));
  co_await CodeContext::restart(context);
  co_return co_await call.no_content();
}

}  // namespace skiff::runtime::api
