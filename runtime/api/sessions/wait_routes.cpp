#include "runtime/api/sessions/wait_routes.hpp"

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/finally.hpp"
#include "runtime/api/commands/log_stream.hpp"
#include "runtime/api/sessions/session_routes.hpp"

namespace skiff::runtime::api {
namespace {

constexpr Milliseconds kUsualWait{30'000};

/// The state of a wait, with the events that end it early.
struct Progress : Awaited {
  using Awaited::Awaited;
  bool overdue = false;
  bool quiet = false;
  bool peer_gone = false;

  /// A function that sets a flag and wakes the wait.
  [[nodiscard]] auto on(bool Progress::* flag) {
    return [this, flag] {
      this->*flag = true;
      changed.notify_all();
    };
  }
};

Task<> hold(Task<> condition, Awaited* awaited) {
  co_await std::move(condition);
  awaited->met = true;
  awaited->changed.notify_all();
}

Task<> hold(Task<Result<>> condition, Awaited* awaited) {
  auto held = co_await std::move(condition);
  awaited->met = held.has_value();
  awaited->ended = !held;
  if (!held) awaited->failure = std::move(held.error());
  awaited->changed.notify_all();
}

Task<> search(sessions::OutputPattern pattern, std::shared_ptr<sessions::OutputLog> log, Awaited* awaited) {
  awaited->found = co_await pattern.search(log);
  awaited->met = awaited->found.found;
  awaited->ended = !awaited->met;
  awaited->changed.notify_all();
}

/// Sends the answer once it is known, and keep-alives before.
Task<Result<>> answer(Call* call, Progress* progress, Milliseconds limit) {
  Deadline overdue{call->agent.executor, progress->on(&Progress::overdue)};
  Deadline quiet{call->agent.executor, progress->on(&Progress::quiet)};
  overdue.expires_after(limit);
  quiet.expires_after(call->agent.settings.keepalive);
  bool begun = false;
  while (!progress->settled() && !progress->overdue && !call->agent.shutdown.draining()) {
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
  std::string text = wait_answer().text({*progress, progress->overdue ? "timeout" : "shutdown"});
  co_return co_await answer_json(*call, begun, 200, std::move(text));
}

Task<> until_drain(Shutdown* shutdown, Progress* progress) {
  co_await shutdown->drain_begun();
  progress->changed.notify_all();
}

Task<> companions(Call* call, Progress* progress, Task<> condition) {
  TaskGroup group{call->agent.executor};
  auto watch = [&](this auto) -> Task<> {
    group.spawn("peer", call->http.watch_peer(progress->on(&Progress::peer_gone)));
    group.spawn("drain", until_drain(&call->agent.shutdown, progress));
    co_await std::move(condition);
    co_await group.join();
  };
  co_await finally(std::move(watch), [&] { return end_tasks(&group); });
}

}  // namespace

Result<> WaitCondition::validate() const {
  const int given = (command ? 1 : 0) + (port ? 1 : 0) + (path ? 1 : 0) + (output ? 1 : 0);
  if (given != 1) return fail(Errc::invalid_field, "give exactly one of command, port, path and output");
  return {};
}

const Answer<AwaitedOf>& wait_answer() {
  static const Answer<AwaitedOf> answer{
      "WaitAnswer",
      {{"met", [](const AwaitedOf& of) { return of.awaited.met; }},
       {"reason",
        [](const AwaitedOf& of) {
          return of.awaited.met ? std::nullopt
                                : std::optional{of.awaited.ended ? std::string_view{"ended"} : of.reason};
        },
        {},
        [] { return named("WaitReason", one_of({"ended", "timeout", "shutdown"})); }},
       {"match",
        [](const AwaitedOf& of) {
          return of.awaited.found.found ? std::optional<std::string_view>{of.awaited.found.text} : std::nullopt;
        }},
       {"next", [](const AwaitedOf& of) {
          return of.awaited.found.found ? std::optional{of.awaited.found.next} : std::nullopt;
        }}}};
  return answer;
}

Task<Result<Task<>>> await_condition(Agent* agent, std::shared_ptr<sessions::Session> session, WaitCondition wanted,
                                     Awaited* awaited) {
  if (wanted.command || wanted.output) {
    SKIFF_CO_TRY(auto command, session->find(wanted.command ? *wanted.command : wanted.output->command));
    if (wanted.command) co_return hold(command->log()->exited(), awaited);
    SKIFF_CO_TRY(auto pattern,
                 co_await sessions::OutputPattern::compile(&agent->pools.patterns, wanted.output->pattern));
    co_return search(std::move(pattern), command->log(), awaited);
  }
  if (wanted.port) co_return hold(sessions::until_listening(&agent->listening_tcp, *wanted.port), awaited);
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  std::string path = session->from_cwd(*wanted.path);
  co_return hold(sessions::until_exists(&agent->pools.disk, std::move(tree), std::move(path)), awaited);
}

Task<Result<>> wait_for_condition(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto request, call.decode<WaitRequest>());
  const auto limit = std::min(request.timeout.value_or(kUsualWait), call.agent.settings.max_wait);
  Progress progress{call.agent.executor};
  SKIFF_CO_TRY(auto condition, co_await await_condition(&call.agent, session, std::move(request.condition), &progress));
  co_return co_await run_beside(companions(&call, &progress, std::move(condition)), answer(&call, &progress, limit));
}

}  // namespace skiff::runtime::api
