#include "runtime/dialects/python_runtime/execute.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/async/beside.hpp"
#include "base/log/log.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/kept_output.hpp"
#include "runtime/dialects/python_runtime/answers.hpp"
#include "runtime/dialects/python_runtime/execute_answer.hpp"
#include "runtime/dialects/python_runtime/execute_limit.hpp"
#include "runtime/dialects/python_runtime/execute_request.hpp"
#include "runtime/reader/log_watch.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

/// The bytes of output that a command keeps: as many as an answer can hold.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20U;

/// The value of SANDBOX_EXEC_TIMEOUT_SECONDS. It is read once, because nothing changes the agent's environment.
std::optional<double> configured_limit() {
  static const std::optional<double> limit = [] {
    const char* const text = std::getenv("SANDBOX_EXEC_TIMEOUT_SECONDS");
    std::optional<double> seconds;
    if (text == nullptr) return seconds;
    seconds = seconds_of(text);
    if (!seconds) log::warning("SANDBOX_EXEC_TIMEOUT_SECONDS is not a number of seconds above 0: it is ignored");
    return seconds;
  }();
  return limit;
}

Task<Result<>> answer_text(Request* request, std::string text) {
  auto response = json_answer(200, std::move(text));
  co_return co_await request->http.respond(std::move(response));
}

Task<Result<>> answer_result(Request* request, std::shared_ptr<sessions::Command> command, ExecuteLimit limit,
                             bool tells_timeout) {
  const Executed how = executed(*command->exit_status(), limit.time, limit.asked);
  Compose compose = [&](const auto& output) { return execute_answer(output, how, tells_timeout); };
  auto text = co_await compose_result(&request->agent, std::move(command), kKeptBytes, std::move(compose));
  co_return co_await answer_text(request, std::move(text));
}

}  // namespace

Task<Result<>> execute(Request* request) {
  auto& http = request->http;
  Agent& agent = request->agent;
  SKIFF_CO_TRY(auto body, co_await http.read_body(agent.settings.max_json_bytes));
  SKIFF_CO_TRY(auto asked,
               read_execute_request(http.request().headers.find("Content-Type"), body, agent.settings.max_json_bytes));
  const bool tells_timeout = asked.knows_timeouts;
  if (asked.command.contains('\0')) {
    co_return co_await answer_text(request, failed_answer("the command holds a NUL byte", tells_timeout));
  }
  if (asked.command.find_first_not_of(" \t\r\n") == std::string::npos) {
    co_return co_await answer_text(request, failed_answer("the command is empty", tells_timeout));
  }
  SKIFF_CO_TRY(auto session, agent.registry.find(sessions::Registry::kDefault));
  request->session = session->id();

  const ExecuteLimit limit =
      execute_limit(asked.timeout_seconds, http.request().headers.get("X-Sandbox-Timeout"), configured_limit());
  api::CommandRequest wanted;
  wanted.command = std::move(asked.command);
  wanted.timeout = limit.time;
  wanted.kill_grace = api::Milliseconds{0};
  wanted.output.keep_bytes = std::min(kKeptBytes, agent.settings.output_memory);
  auto started = co_await api::start(agent, &request->caller, session, &wanted);
  if (!started) {
    // The status tells a client that it may try again. Any other failure to start is reported as the command's failure.
    if (api::is_for_later(started.error().code)) co_return std::unexpected{std::move(started.error())};
    co_return co_await answer_text(request, failed_answer(started.error().message, tells_timeout));
  }
  const std::shared_ptr<sessions::Command> command = started->command;
  request->command = command->id();

  LogWatch watch{agent.executor, command->log(), {}};
  try {
    (void)co_await run_beside(watch.watch_peer(http), watch.until_exit());
  } catch (...) {
    // The server ends, and nobody can be answered.
    command->end(sessions::Cause::killed_by_client);
    throw;
  }
  if (!command->exit_status()) {
    command->end(sessions::Cause::killed_by_client);
    co_return fail(Errc::cancelled, "the client is gone");
  }
  co_return co_await answer_result(request, command, limit, tells_timeout);
}

}  // namespace skiff::runtime::dialects::python_runtime
