#include <algorithm>
#include <array>
#include <utility>

#include "base/async/beside.hpp"
#include "protocol/json/schema.hpp"
#include "runtime/api/code/code_answer.hpp"
#include "runtime/api/code/code_routes.hpp"
#include "runtime/mcp/progress.hpp"
#include "runtime/mcp/tools/command_arguments.hpp"
#include "runtime/mcp/tools/tools.hpp"

namespace skiff::runtime::mcp {
namespace {

Task<Result<std::string>> run_in_context(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<RunCodeArguments>(arguments));
  SKIFF_CO_TRY(auto session, request->session(asked.session));
  Agent& agent = request->agent;
  SKIFF_CO_TRY(auto context, agent.code_contexts.pick(session, asked.context, asked.language, {},
                                                      holder_of(request->caller.identity)));
  const Milliseconds limit = std::min(asked.timeout, agent.settings.max_wait);
  api::CodeCall call{
      .code = std::move(asked.code), .env = {}, .timeout = limit, .token_end = request->caller.identity.expires};
  api::CodeCollector collected{nullptr, static_cast<std::size_t>(asked.max_output_bytes)};
  auto message = [] { return std::string{"running"}; };
  SKIFF_CO_TRY(auto end, co_await run_beside(
                             tell_progress(request, limit, std::move(message)),
                             api::CodeContext::run(context, &agent, &request->caller, std::move(call), &collected)));
  co_return collected.text(end);
}

constexpr std::array kCodeTools{
    Tool{.name = "run_code",
         .title = "Run code",
         .description =
             "Run Python (or javascript, bash) in a context that keeps its variables from call to call, and return "
             "what it printed, the values it has shown and its error. The value of the last expression is a result; "
             "figures of matplotlib are PNG in base64. After a time limit the context starts anew, without variables.",
         .scope = Scope::exec,
         .destructive = true,
         .open_world = true,
         .input = protocol::json_schema<RunCodeArguments>,
         .output = protocol::json_schema<api::CodeAnswer>,
         .run = run_in_context},
};

}  // namespace

std::span<const Tool> code_tools() {
  return kCodeTools;
}

}  // namespace skiff::runtime::mcp
