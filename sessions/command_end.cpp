// The half of sessions/command.hpp that is about processes: signals, the end, and what is left afterwards.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/kernel_features.hpp"
#include "base/log/log.hpp"
#include "sessions/command.hpp"
#include "sessions/spawn/terminal.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;
namespace {

/// Pause between two tries to end a command that has not started yet.
constexpr std::chrono::milliseconds kStartLook{100};
/// Longest pause between looks at background processes on kernels without pidfd.
constexpr std::chrono::milliseconds kBackgroundLook{30'000};

}  // namespace

Task<Result<>> Command::signal(int signal, Target target) {
  const auto self = shared_from_this();
  co_await started();
  const std::string id = spec_.id;
  if (over()) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
  if (target == Target::tree) {
    if (const bool reached = co_await reaches(self, signal, Among::all); reached) co_return Result<>{};
    auto look = [all = tree()] { return pids_of(all); };
    if (const auto left = co_await supervisor_.processes.ending.run(std::move(look)); !left.empty()) {
      co_return fail(Errc::permission_denied,
                     "the agent may not signal what is left of command \"" + id + "\": it runs as another user");
    }
    co_return fail(Errc::command_ended, "command \"" + id + "\" has no process left");
  }
  // The pid of a reaped process may belong to another process by now.
  if (reaped_ && target == Target::leader) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
  if (target == Target::group && feed_ && terminal_ && has_foreground(terminal_.get()) &&
      type_signal(terminal_.get(), signal)) {
    co_return Result<>{};
  }
  if (target == Target::group && reaped_) {
    // The group's number may belong to another group by now.
    if (const bool reached = co_await reaches(self, signal, Among::leaders_group); reached) co_return Result<>{};
    co_return fail(Errc::command_ended, "command \"" + id + "\" has no process left in its group");
  }
  if (::kill(target == Target::group ? -pid() : pid(), signal) != 0) {
    if (errno == ESRCH) co_return fail(Errc::command_ended, "command \"" + id + "\" has ended");
    co_return std::unexpected{system_error(errno, "send signal " + std::to_string(signal))};
  }
  co_return Result<>{};
}

std::uint64_t Command::written_offset() const {
  std::uint64_t offset = log_->next_offset();
  for (const auto& one : pumps_) offset += one->waiting();
  return offset;
}

void Command::escalate(std::chrono::milliseconds delay, int signal) {
  escalation_.emplace(supervisor_.executor, [this, signal] {
    if (over()) return;
    if (!ending_) ending_ = Cause::killed_by_client;
    supervisor_.tasks.spawn("escalation", send_then_kill(shared_from_this(), signal));
  });
  escalation_->expires_after(delay);
}

Task<> Command::send_then_kill(std::shared_ptr<Command> self, int signal) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (signal != SIGKILL) (void)co_await reaches(self, signal, Among::all);
  if (self->over() || self->kills_ > 0) co_return;
  self->begin_kill(signal == SIGKILL ? std::chrono::milliseconds{0} : self->supervisor_.limits.kill_grace);
}

Task<bool> Command::reaches(std::shared_ptr<Command> self, int signal, Among among) {
  auto send = [all = self->tree(), signal, among] { return signal_tree(all, signal, among); };
  const std::size_t reached = co_await self->supervisor_.processes.ending.run(std::move(send));
  co_return reached > 0;
}

void Command::end(Cause cause) {
  if (over()) return;
  if (!ending_) ending_ = cause;
  if (state_ == State::starting) return give_up_starting();
  if (kills_ > 0) return;
  begin_kill(spec_.kill_grace.value_or(supervisor_.limits.kill_grace));
}

void Command::kill(Cause cause) {
  if (over()) return;
  if (!ending_) ending_ = cause;
  spec_.kill_grace = std::chrono::milliseconds{0};
  if (state_ == State::starting) return give_up_starting();
  begin_kill(*spec_.kill_grace);
}

Task<Result<>> Command::killed() {
  const auto self = shared_from_this();
  co_await gone();
  if (!exit_status() || exit_status()->kill_level != "incomplete") co_return Result<>{};
  co_return fail(Errc::permission_denied, "not all of the command could be killed: some of it runs as another user");
}

void Command::give_up_starting() {
  if (state_ != State::starting) return;
  if (!start_again_) {
    // Nearly all commands start before the first look, and are then ended like any other.
    start_again_.emplace(supervisor_.executor, [this] { give_up_starting(); });
  } else if (start_) {
    give_up_start(start_);
  }
  start_again_->expires_after(kStartLook);
}

void Command::begin_kill(std::chrono::milliseconds grace) {
  ++kills_;
  // A slow reader may hold up the command, but not its end.
  log_->stop_waiting();
  supervisor_.tasks.spawn("kill", kill_tree(shared_from_this(), grace));
}

Task<> Command::kill_tree(std::shared_ptr<Command> self, std::chrono::milliseconds grace) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const bool verified = co_await end_tree(&self->supervisor_.processes.ending, self->tree(), grace,
                                          self->supervisor_.limits.kill_patience);
  self->kill_level_ = verified ? "tree" : "incomplete";
  log::debug("command killed", {{"session", self->session_},
                                {"command", self->spec_.id},
                                {"cause", name(*self->ending_)},
                                {"grace_ms", grace.count()},
                                {"all_processes_ended", verified}});
  // A process that removed its tag is still in the cgroup. The group lives at least as long as this coroutine runs.
  if (const CommandGroup* const group = self->group_.get()) {
    bool killed = false;
    co_await run_on(&self->supervisor_.processes.ending.thread(), [&] { killed = group->kill(); });
    if (killed) self->kill_level_ = "cgroup";
  }
  // A process that still holds a pipe cannot be ended, or has left the tree, so its pipe is given up. What is in the
  // pipe now is read first.
  for (auto& one : self->pumps_) one->leader_ended();
  while (verified && !self->drained()) co_await self->changed_.wait();
  for (auto& one : self->pumps_) one->abandon();
  if (!verified) self->given_up_ = true;
  --self->kills_;
  self->changed_.notify_all();
}

Task<> Command::run_on(BlockingPool* pool, std::function<void()> work) {
  auto all = [&work] {
    work();
    return true;
  };
  co_await pool->run(std::move(all));
}

std::vector<ino_t> Command::open_pipes() {
  std::vector<ino_t> inodes;
  for (const auto& one : pumps_) {
    if (!one->at_end()) inodes.push_back(one->inode());
  }
  return inodes;
}

Task<std::vector<pid_t>> Command::background(std::shared_ptr<Command> self) {
  std::vector<ino_t> inodes = self->open_pipes();
  if (inodes.empty()) co_return std::vector<pid_t>{};
  auto look = [all = self->tree(), inodes = std::move(inodes)] { return holders_of(all, inodes); };
  co_return co_await self->supervisor_.processes.ending.run(std::move(look));
}

Task<> Command::add_others(std::shared_ptr<Command> self, std::vector<pid_t>* holders) {
  if (self->terminal_) co_return;  // the other holders of a terminal cannot be told from the command's own
  std::vector<ino_t> inodes = self->open_pipes();
  const auto others = co_await self->supervisor_.processes.holders.others(std::move(inodes), *holders);
  holders->insert(holders->end(), others.begin(), others.end());
}

Task<> Command::watch_background(std::shared_ptr<Command> self) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Executor executor = self->supervisor_.executor;
  std::chrono::milliseconds pause{500};
  std::vector<pid_t> left = co_await background(self);
  while (self->counted_ && !left.empty()) {
    const pid_t first = left.front();
    UniqueFd process{kernel_features().pidfd ? static_cast<int>(::syscall(SYS_pidfd_open, first, 0)) : -1};
    if (process) {
      // Look again after opening the descriptor: the pid may have been reused before.
      left = co_await background(self);
      if (std::ranges::find(left, first) == left.end()) continue;
      if (!self->counted_) co_return;
      asio::posix::basic_stream_descriptor<Executor> end{executor, process.release()};
      self->stop_watching_ = [&end] { end.cancel(); };
      co_await end.async_wait(asio::posix::descriptor_base::wait_read, asio::as_tuple(use_task));
    } else {
      Event over{executor};
      Deadline again{executor, [&over] { over.notify_all(); }};
      again.expires_after(pause);
      pause = std::min(pause * 2, kBackgroundLook);
      self->stop_watching_ = [&over] { over.notify_all(); };
      co_await over.wait();
    }
    self->stop_watching_ = nullptr;
    if (!self->counted_) co_return;
    left = co_await background(self);
  }
  self->end_life();
}

Task<> Command::look_at_memory(std::shared_ptr<Command> self) {
  self->looked_at_memory_ = true;
  const bool killed = self->killed_unasked_;
  if (!killed && !self->group_) co_return;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<std::uint64_t> kills;
  bool in_group = false;
  try {
    co_await run_on(&self->supervisor_.processes.ending.thread(), [&, group = self->group_.get()] {
      if (group != nullptr) peak_bytes = group->peak_bytes();
      in_group = killed && group != nullptr && group->out_of_memory();
      if (killed) kills = self->supervisor_.oom_kills.read();
    });
  } catch (const std::bad_alloc&) {
    // The command ends without these figures, too.
  }
  self->peak_bytes_ = peak_bytes;
  const bool anywhere = killed && self->supervisor_.oom_kills.have_grown(kills);
  if (!in_group && !anywhere) co_return;
  self->cause_at_exit_ = Cause::oom;
  if (!self->ending_) self->ending_ = Cause::oom;
}

}  // namespace skiff::sessions
