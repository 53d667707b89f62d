// How a command is signalled and ended: the half of sessions/command.hpp that is about its processes.

#include <csignal>

#include <boost/asio/this_coro.hpp>

#include "sessions/command.hpp"
#include "sessions/process/terminal.hpp"
#include "sessions/start_process.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;
namespace {

/// Between two tries to end a command that has not started yet.
constexpr std::chrono::milliseconds kStartLook{100};

}  // namespace

Task<Result<>> Command::signal(int signal, Target target) {
  const auto self = shared_from_this();
  co_await started();
  const std::string id = spec_.id;
  if (over_) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
  if (target == Target::tree) {
    if (const bool reached = co_await reaches(self, signal, Among::all); reached) co_return Result<>{};
    co_return fail(Errc::command_ended, "command \"" + id + "\" has no process left");
  }
  // A pid that was reaped may belong to somebody else by now.
  if (reaped_ && target == Target::leader) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
  if (target == Target::group && feed_ && terminal_ && type_signal(terminal_.get(), signal)) co_return Result<>{};
  if (target == Target::group && reaped_) {
    // Its number may be another's by now.
    if (const bool reached = co_await reaches(self, signal, Among::leaders_group); reached) co_return Result<>{};
    co_return fail(Errc::command_ended, "command \"" + id + "\" has no process left in its group");
  }
  if (::kill(target == Target::group ? -pid() : pid(), signal) != 0) {
    if (errno == ESRCH) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
    co_return std::unexpected{system_error(errno, "send signal " + std::to_string(signal))};
  }
  co_return Result<>{};
}

void Command::escalate(std::chrono::milliseconds delay, int signal) {
  escalation_.emplace(supervisor_.executor, [this, signal] {
    if (over_) return;
    if (!ending_) ending_ = Cause::killed_by_client;
    supervisor_.tasks.spawn("escalation", send_then_kill(shared_from_this(), signal));
  });
  escalation_->expires_after(delay);
}

Task<> Command::send_then_kill(std::shared_ptr<Command> self, int signal) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (signal != SIGKILL) (void)co_await reaches(self, signal, Among::all);
  if (self->over_ || self->kills_ > 0) co_return;
  self->begin_kill(signal == SIGKILL ? std::chrono::milliseconds{0} : self->supervisor_.limits.kill_grace);
}

Task<bool> Command::reaches(std::shared_ptr<Command> self, int signal, Among among) {
  auto send = [all = self->tree(), signal, among] { return signal_tree(all, signal, among); };
  const std::size_t reached = co_await self->supervisor_.ending.run(std::move(send));
  co_return reached > 0;
}

void Command::end(Cause cause) {
  if (over_) return;
  if (!ending_) ending_ = cause;
  if (state_ == State::starting) return give_up_starting();
  if (kills_ > 0) return;
  begin_kill(spec_.kill_grace.value_or(supervisor_.limits.kill_grace));
}

void Command::kill(Cause cause) {
  if (over_) return;
  if (!ending_) ending_ = cause;
  spec_.kill_grace = std::chrono::milliseconds{0};
  if (state_ == State::starting) return give_up_starting();
  begin_kill(*spec_.kill_grace);
}

void Command::give_up_starting() {
  if (state_ != State::starting) return;
  if (!start_again_) {
    // Nearly all start before the first look, and are ended then as any other.
    start_again_.emplace(supervisor_.executor, [this] { give_up_starting(); });
  } else if (start_) {
    give_up_start(start_);
  }
  start_again_->expires_after(kStartLook);
}

void Command::begin_kill(std::chrono::milliseconds grace) {
  ++kills_;
  // Whoever holds the command up must not hold its end up.
  log_->stop_waiting();
  supervisor_.tasks.spawn("kill", kill_tree(shared_from_this(), grace));
}

Task<> Command::kill_tree(std::shared_ptr<Command> self, std::chrono::milliseconds grace) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const bool verified =
      co_await end_tree(&self->supervisor_.ending, self->tree(), grace, self->supervisor_.limits.kill_patience);
  self->kill_level_ = verified ? "tree" : "incomplete";
  // Nothing escapes from a cgroup, also not what has taken its tag off.
  if (self->group_ && self->group_->kill()) self->kill_level_ = "cgroup";
  // Who holds a pipe now can't be ended, or has left the tree: nobody waits for that. What is in the pipe comes first.
  for (auto& one : self->pumps_) one->leader_ended();
  while (verified && !self->drained()) co_await self->changed_.wait();
  for (auto& one : self->pumps_) one->abandon();
  if (!verified) self->given_up_ = true;
  --self->kills_;
  self->changed_.notify_all();
}

}  // namespace skiff::sessions
