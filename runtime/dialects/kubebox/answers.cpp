#include "runtime/dialects/kubebox/answers.hpp"

#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/commands/log_stream.hpp"
#include "runtime/dialects/kubebox/names.hpp"

namespace skiff::runtime::dialects::kubebox {

Result<std::shared_ptr<sessions::Session>> session_of(Request* request, std::string_view of_client) {
  auto found = find_session(request->agent.registry, of_client);
  if (found) request->session = (*found)->id();
  return found;
}

Task<Result<std::shared_ptr<sessions::Command>>> start_process(Request* request,
                                                               std::shared_ptr<sessions::Session> session,
                                                               api::CommandRequest asked, std::uint64_t process) {
  asked.id = command_id(process);
  SKIFF_CO_TRY(auto started, co_await api::start(request->agent, &request->caller, std::move(session), &asked));
  request->command = started.command->id();
  co_return std::move(started.command);
}

Task<Result<bool>> until_exit(Request* request, std::shared_ptr<sessions::Command> command) {
  auto waited = co_await api::wait_for_exit(&request->agent, &request->http, command, std::nullopt);
  if (waited) co_return waited->begun;
  command->end(sessions::Cause::killed_by_client);
  co_return std::unexpected{std::move(waited.error())};
}

Task<Result<>> answer(Request* request, std::string json, bool begun, unsigned status) {
  if (!begun) co_return co_await request->http.respond(json_answer(status, std::move(json)));
  SKIFF_CO_TRY_VOID(co_await request->http.write(json));
  co_return co_await request->http.finish();
}

}  // namespace skiff::runtime::dialects::kubebox
