#include <boost/asio/this_coro.hpp>

#include "base/beside.hpp"
#include "base/deadline.hpp"
#include "protocol/json_text.hpp"
#include "protocol/utf8.hpp"
#include "runtime/api/log_stream.hpp"
#include "runtime/api/session_routes.hpp"
#include "runtime/api/wait_request.hpp"
#include "sessions/condition.hpp"

namespace skiff::runtime::api {
namespace {

constexpr Milliseconds kUsualWait{30'000};

/// What happens beside the wait itself.
struct Progress {
  explicit Progress(Executor executor) : changed{executor} {}
  Event changed;
  bool met = false;
  bool ended = false;  ///< it can't be met any more
  bool overdue = false;
  bool quiet = false;
  bool peer_gone = false;
  std::optional<Error> failure;  ///< why it can't be met
  std::string detail;            ///< further members of the answer
};

Task<> watch_peer(protocol::HttpExchange* http, Progress* progress) {
  const bool gone = co_await http->peer_closed();
  if (!gone) co_return;
  progress->peer_gone = true;
  progress->changed.notify_all();
}

Task<> hold(Task<> condition, Progress* progress) {
  co_await std::move(condition);
  progress->met = true;
  progress->changed.notify_all();
}

Task<> hold(Task<Result<>> condition, Progress* progress) {
  auto held = co_await std::move(condition);
  progress->met = held.has_value();
  progress->ended = !held;
  if (!held) progress->failure = std::move(held.error());
  progress->changed.notify_all();
}

Task<> search(sessions::OutputPattern pattern, std::shared_ptr<sessions::OutputLog> log, Progress* progress) {
  const auto found = co_await pattern.search(log);
  progress->met = found.found;
  progress->ended = !found.found;
  if (found.found) {
    protocol::append_json_key(progress->detail, "match");
    protocol::append_json_string(progress->detail, protocol::to_valid_utf8(found.text));
    protocol::append_json_key(progress->detail, "next");
    protocol::append_json_integer(progress->detail, found.next);
  }
  progress->changed.notify_all();
}

/// Sends the answer once it is known, and a sign of life while it is not.
Task<Result<>> answer(Call* call, Progress* progress, Milliseconds limit) {
  const auto interrupt = [progress](bool Progress::* flag) {
    return [progress, flag] {
      progress->*flag = true;
      progress->changed.notify_all();
    };
  };
  Deadline overdue{call->agent.executor, interrupt(&Progress::overdue)};
  Deadline quiet{call->agent.executor, interrupt(&Progress::quiet)};
  overdue.expires_after(limit);
  quiet.expires_after(call->agent.settings.keepalive);
  bool begun = false;
  while (!progress->met && !progress->ended && !progress->overdue && !call->agent.draining) {
    if (progress->peer_gone) co_return fail(Errc::cancelled, "the client is gone");
    if (progress->quiet) {
      progress->quiet = false;
      quiet.expires_after(call->agent.settings.keepalive);
      Result<> sent;
      if (!begun) {
        begun = true;
        protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
        sent = co_await call->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
      }
      if (sent) sent = co_await call->http.write(" ");
      if (!sent) co_return sent;
      continue;
    }
    co_await progress->changed.wait();
  }
  if (progress->failure && !begun) co_return std::unexpected{std::move(*progress->failure)};
  std::string text{R"({"met":)"};
  text += progress->met ? "true" : "false";
  if (!progress->met) {
    protocol::append_json_key(text, "reason");
    protocol::append_json_string(text, progress->ended ? "ended" : progress->overdue ? "timeout" : "shutdown");
  }
  if (!progress->detail.empty()) {
    if (!progress->detail.starts_with(',')) text += ',';
    text += progress->detail;
  }
  text += '}';
  co_return co_await answer_json(*call, begun, 200, std::move(text));
}

Task<> until_drain(Agent* agent, Progress* progress) {
  while (!agent->draining) co_await agent->drain_begun.wait();
  progress->changed.notify_all();
}

Task<> companions(Call* call, Progress* progress, Task<> condition) {
  TaskGroup group{call->agent.executor};
  group.spawn("peer", watch_peer(&call->http, progress));
  group.spawn("drain", until_drain(&call->agent, progress));
  std::exception_ptr failure;
  try {
    co_await std::move(condition);
    co_await group.join();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  group.cancel();
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Result<> WaitCondition::validate() const {
  const int given = (command ? 1 : 0) + (port ? 1 : 0) + (path ? 1 : 0) + (output ? 1 : 0);
  if (given != 1) return fail(Errc::invalid_field, "give exactly one of command, port, path and output");
  return {};
}

Task<Result<>> wait_for_condition(Call& call) {
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  auto request = call.decode<WaitRequest>();
  if (!request) co_return std::unexpected{request.error()};
  const WaitCondition& wanted = request->condition;
  const auto limit = std::min(request->timeout.value_or(kUsualWait), call.agent.settings.max_wait);
  Progress progress{call.agent.executor};
  std::optional<Task<>> condition;
  if (wanted.command || wanted.output) {
    auto command = (*session)->find(wanted.command ? *wanted.command : wanted.output->command);
    if (!command) co_return std::unexpected{command.error()};
    if (wanted.command) {
      condition = hold((*command)->log()->exited(), &progress);
    } else {
      auto pattern = co_await sessions::OutputPattern::compile(&call.agent.pattern_thread, wanted.output->pattern);
      if (!pattern) co_return std::unexpected{pattern.error()};
      condition = search(std::move(*pattern), (*command)->log(), &progress);
    }
  } else if (wanted.port) {
    condition = hold(sessions::until_listening(&call.agent.listening_tcp, *wanted.port), &progress);
  } else {
    auto tree = co_await (*session)->tree();
    if (!tree) co_return std::unexpected{std::move(tree.error())};
    std::string path = (*session)->from_cwd(*wanted.path);
    condition = hold(sessions::until_exists(&call.agent.disk, std::move(*tree), std::move(path)), &progress);
  }
  co_return co_await run_beside(companions(&call, &progress, std::move(*condition)), answer(&call, &progress, limit));
}

}  // namespace skiff::runtime::api
