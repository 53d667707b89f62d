#include "runtime/dialects/kubebox/answers.hpp"

#include <utility>

#include "base/beside.hpp"
#include "base/deadline.hpp"
#include "runtime/dialects/kubebox/names.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

struct Watched {
  bool gone = false;
  bool quiet = false;
};

Task<> watch_client(protocol::HttpExchange* http, std::shared_ptr<sessions::OutputLog> log, Watched* watched) {
  const bool gone = co_await http->peer_closed();
  if (!gone) co_return;
  watched->gone = true;
  log->wake();
}

Task<Result<>> await_exit(Request* request, std::shared_ptr<sessions::Command> command, Watched* watched, bool begun) {
  const auto log = command->log();
  const auto interval = request->agent.settings.keepalive;
  Deadline quiet{request->agent.executor, [watched, &log] {
                   watched->quiet = true;
                   log->wake();
                 }};
  if (begun) quiet.expires_after(interval);
  while (!log->exit_status()) {
    if (watched->gone) co_return fail(Errc::cancelled, "the client is gone");
    if (std::exchange(watched->quiet, false)) {
      if (auto sent = co_await request->http.write(" "); !sent) co_return sent;
      quiet.expires_after(interval);
      continue;
    }
    co_await log->changed();
  }
  co_return Result<>{};
}

}  // namespace

Result<std::string> query(const Request& request, std::string_view name) {
  const auto found = request.http.request().target.parameter(name);
  if (!found)
    return fail(Errc::missing_field, "the query parameter " + std::string{name} + " is missing", std::string{name});
  return std::string{*found};
}

Result<std::shared_ptr<sessions::Session>> session_of(Request& request, std::string_view of_client) {
  auto found = find_session(request.agent, of_client);
  if (found) request.session = (*found)->id();
  return found;
}

Task<Result<>> answer(Request* request, std::string json) {
  co_return co_await request->http.respond({200, {{"Content-Type", "application/json"}}, std::move(json)});
}

Task<Result<>> answer_success(Request* request) {
  return answer(request, R"({"status":"success"})");
}

Task<Result<>> until_exit(Request* request, std::shared_ptr<sessions::Command> command, bool begun) {
  Watched watched;
  auto waited = co_await run_beside(watch_client(&request->http, command->log(), &watched),
                                    await_exit(request, command, &watched, begun));
  if (!waited) command->end(sessions::Cause::killed_by_client);
  co_return waited;
}

}  // namespace skiff::runtime::dialects::kubebox
