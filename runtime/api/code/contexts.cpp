#include "runtime/api/code/contexts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/async/expiry.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "base/id.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/code/worker.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::string_view kLost =
    "skiff: the process of this context had ended: this is a new one, without its variables\n";

/// A call that waits for its turn, with all that can end the wait before.
struct Turn {
  Turn(Executor executor, const CodeCall& call, std::optional<SteadyTime> until)
      : changed{executor},
        limit{executor, [this] { end(late); }},
        expiry{executor, call.token_end, [this] { end(expired); }} {
    if (until) limit.expires_at(*until);
  }
  void end(bool& how) {
    how = true;
    changed.notify_all();
  }

  Event changed;
  std::optional<Semaphore::Permit> permit;
  bool gone = false;
  bool late = false;
  bool expired = false;
  Deadline limit;
  Expiry expiry;
};

Task<> take_turn(Semaphore* from, Turn* turn) {
  turn->permit.emplace(co_await from->acquire());
  turn->changed.notify_all();
}

/// Waits for the turn of a call. A client that leaves gives its place up at once.
Task<Result<Semaphore::Permit>> wait_for_turn(Semaphore* from, const CodeCall* call, std::optional<SteadyTime> until) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  Turn turn{executor, *call, until};
  TaskGroup group{executor};
  auto waiting = [&](this auto) -> Task<> {
    group.spawn("turn", take_turn(from, &turn));
    if (call->client != nullptr) group.spawn("peer", call->client->watch_peer([&turn] { turn.end(turn.gone); }));
    while (!turn.permit && !turn.gone && !turn.late && !turn.expired) co_await turn.changed.wait();
  };
  co_await finally(std::move(waiting), [&] { return end_tasks(&group); });
  if (turn.expired) co_return fail(Errc::unauthenticated, std::string{kExpired});
  if (turn.gone) co_return fail(Errc::cancelled, "the client is gone");
  if (!turn.permit) co_return fail(Errc::resource_exhausted, "the context was busy for the whole time limit");
  co_return std::move(*turn.permit);
}

}  // namespace

CodeContext::CodeContext(Executor executor, std::weak_ptr<sessions::Session> session, std::string id,
                         const CodeLanguage& language, CommandRequest how, Shares::Part share)
    : session_{std::move(session)},
      id_{std::move(id)},
      language_{language},
      how_{std::move(how)},
      share_{std::move(share)},
      turn_{executor, 1},
      waits_{kMostWaiting} {}

bool CodeContext::is_orphan() const {
  const auto session = session_.lock();
  return !session || session->closed();
}

std::string CodeContext::cwd() const {
  const auto session = session_.lock();
  return session ? session->from_cwd(how_.cwd.value_or("")) : std::string{};
}

std::string CodeContext::command() const {
  return worker_ && !worker_->command()->exit_status() ? worker_->command()->id() : std::string{};
}

Task<Result<std::shared_ptr<CodeWorker>>> CodeContext::ready_worker(CodeContext* self, Agent* agent,
                                                                    const Caller* caller, bool* fresh) {
  if (self->closed_) co_return fail(Errc::context_not_found, "the context \"" + self->id_ + "\" was deleted");
  if (agent->shutdown.draining()) co_return fail(Errc::draining, "the agent is stopping and takes no new work");
  if (self->worker_ && self->worker_->lives()) co_return self->worker_;
  auto session = self->session_.lock();
  if (!session) co_return fail(Errc::session_not_found, "the session was deleted");
  *fresh = true;
  if (self->worker_) co_await CodeWorker::end(self->worker_, sessions::Cause::killed_by_client);
  SKIFF_CO_TRY(auto worker,
               co_await CodeWorker::start(agent, caller, std::move(session), &self->language_, self->how_));
  if (self->closed_) co_await CodeWorker::end(worker, sessions::Cause::killed_by_client);
  co_return worker;
}

Task<Result<CodeEnd>> CodeContext::run(std::shared_ptr<CodeContext> self, Agent* agent, const Caller* caller,
                                       CodeCall call, CodeReader* to) {
  const std::string holder = holder_of(caller->identity);
  if (!self->waits_.leaves_room(holder)) {
    co_return fail(Errc::resource_exhausted, "too many calls wait for the context \"" + self->id_ + "\"");
  }
  const Shares::Part waits{self->waits_, holder};
  const auto until = call.timeout ? std::optional{SteadyTime::clock::now() + *call.timeout} : std::nullopt;
  SKIFF_CO_TRY(const auto permit, co_await wait_for_turn(&self->turn_, &call, until));
  bool fresh = false;
  const bool is_lost = self->worker_ && !self->worker_->lives();
  SKIFF_CO_TRY(auto worker, co_await ready_worker(self.get(), agent, caller, &fresh));
  self->worker_ = worker;
  to->began(*self, fresh);
  if (is_lost) to->output(sessions::Stream::err, kLost, wall_now());
  if (until) {
    const auto left = std::chrono::ceil<Milliseconds>(*until - SteadyTime::clock::now());
    call.timeout = std::max(Milliseconds{1}, left);
  }
  SKIFF_CO_TRY(auto end, co_await CodeWorker::run(worker, std::move(call), to));
  if (!end.why_worker_ended.empty()) {
    if (self->worker_ == worker) self->worker_.reset();
    to->error({.name = "ContextEnded", .value = end.why_worker_ended, .traceback = {}});
  }
  co_return end;
}

Task<> CodeContext::restart(std::shared_ptr<CodeContext> self) {
  if (const auto worker = std::exchange(self->worker_, nullptr))
    co_await CodeWorker::end(worker, sessions::Cause::killed_by_client);
}

Task<> CodeContext::close(std::shared_ptr<CodeContext> self) {
  self->closed_ = true;
  return restart(std::move(self));
}

Result<CodeContexts::Pointer> CodeContexts::create(std::shared_ptr<sessions::Session> session,
                                                   std::string_view language, CommandRequest how,
                                                   std::string_view holder) {
  SKIFF_TRY(const auto* known, find_code_language(language));
  return make(std::move(session), new_id("x-"), *known, std::move(how), holder);
}

Result<CodeContexts::Pointer> CodeContexts::make(std::shared_ptr<sessions::Session> session, std::string id,
                                                 const CodeLanguage& language, CommandRequest how,
                                                 std::string_view holder) {
  all_.remove_if([](const Pointer& one) { return one->is_orphan(); });
  if (!shares_.leaves_room(holder)) {
    return fail(Errc::too_many_contexts, std::to_string(shares_.of(holder)) + " contexts are yours, of " +
                                             std::to_string(shares_.used()) + " in all");
  }
  all_.push_back(std::make_shared<CodeContext>(executor_, std::move(session), std::move(id), language, std::move(how),
                                               Shares::Part{shares_, holder}));
  return all_.back();
}

Result<CodeContexts::Pointer> CodeContexts::find(const sessions::Session& session, std::string_view id) {
  const auto found =
      std::ranges::find_if(all_, [&](const Pointer& one) { return one->is_in(session) && one->id() == id; });
  if (found != all_.end()) return *found;
  return fail(Errc::context_not_found, "no context \"" + std::string{id} + "\" in session \"" + session.id() + "\"");
}

Result<CodeContexts::Pointer> CodeContexts::pick(std::shared_ptr<sessions::Session> session,
                                                 const std::optional<std::string>& id,
                                                 const std::optional<std::string>& language, CommandRequest how,
                                                 std::string_view holder, std::string_view group) {
  if (id && language) return fail(Errc::invalid_request, "give a context or a language, not both");
  if (id) return find(*session, *id);
  SKIFF_TRY(const auto* known, find_code_language(language.value_or("")));
  const std::string usual = std::string{group}.append(known->name);
  if (auto there = find(*session, usual)) return there;
  return make(std::move(session), usual, *known, std::move(how), holder);
}

std::vector<CodeContexts::Pointer> CodeContexts::of(const sessions::Session& session) {
  std::vector<Pointer> found;
  std::ranges::copy_if(all_, std::back_inserter(found), [&](const Pointer& one) { return one->is_in(session); });
  return found;
}

void CodeContexts::forget(const CodeContext& context) {
  all_.remove_if([&](const Pointer& one) { return one.get() == &context; });
}

}  // namespace skiff::runtime::api
