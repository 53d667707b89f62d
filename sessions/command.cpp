#include "sessions/command.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/kernel_features.hpp"
#include "base/log/log.hpp"
#include "sessions/command_pipes.hpp"
#include "sessions/input/stdin_probe.hpp"
#include "sessions/shell/script.hpp"
#include "sessions/spawn/terminal.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

std::string_view name(State state) noexcept {
  switch (state) {
    case State::starting:
      return "starting";
    case State::running:
      return "running";
    case State::ended:
    case State::over:
      break;
  }
  return "ended";
}

namespace {

/// Bytes of an ended command's line or argv that are kept.
constexpr std::size_t kKeptOfRequest = std::size_t{16} << 10U;

/// Shortens a client's text for a line of the agent's log.
std::string_view shortened(std::string_view text) {
  constexpr std::size_t kMost = 500;
  return text.substr(0, kMost);
}

std::chrono::microseconds micros(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

}  // namespace

Command::Command(Supervisor& supervisor, std::string session, CommandSpec spec)
    : supervisor_{supervisor},
      session_{std::move(session)},
      spec_{std::move(spec)},
      log_{std::make_shared<OutputLog>(
          supervisor.executor, supervisor.output.budget,
          OutputLog::Options{.keep_bytes = spec_.keep_bytes.value_or(supervisor.limits.keep_bytes),
                             .overflow = spec_.overflow,
                             .checksum = spec_.checksum})},
      changed_{supervisor.executor} {}

void Command::launch(SpawnRequest request, std::shared_ptr<ShellRun> shell) {
  shell_ = std::move(shell);
  started_at_ = wall_now();
  started_steady_ = std::chrono::steady_clock::now();
  tag_ = supervisor_.processes.spawner.new_tag();
  supervisor_.live.begin();
  counted_ = true;
  ++supervisor_.counts.started[0];
  supervisor_.tasks.spawn("command", live(shared_from_this(), std::move(request)));
}

Task<> Command::started() {
  while (state_ == State::starting) co_await changed_.wait();
}

Task<> Command::keep_state(std::shared_ptr<Command> self) {
  const auto shell = std::exchange(self->shell_, nullptr);
  self->state_saved_ =
      co_await shell->conclude(self->reaped_ && WIFEXITED(self->reaped_->status), self->supervisor_.disk);
}

Task<> Command::live(std::shared_ptr<Command> self, SpawnRequest request) {
  // Only the end of its processes ends a command's life: cancelling it half-way would lose their exit.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  Supervisor& supervisor = self->supervisor_;

  auto pipes = CommandPipes::open(self->spec_);
  if (!pipes) {
    self->spawn_failed(std::move(pipes.error()));
    co_return;
  }
  self->terminal_ = std::move(pipes->terminal);
  self->stdin_inode_ = pipes->stdin_inode;
  if (self->shell_) {
    auto dump = self->shell_->open_dump();
    if (!dump) {
      self->spawn_failed({"script", errno, dump.error().message});
      co_return;
    }
    if (*dump) request.extra.emplace_back(std::move(*dump), ShellScript::kDumpFd);
  }
  request.in = std::move(pipes->child_in);
  request.out = std::move(pipes->child_out);
  request.err = std::move(pipes->child_err);
  request.controlling_terminal = self->spec_.terminal.has_value();
  request.tag = self->tag_;
  // The timeout includes the start: a program on a disk that hangs may take long to start.
  self->watch_time();
  if (CgroupHome::is_for(self->spec_.limits)) {
    std::expected<std::unique_ptr<CommandGroup>, SpawnFailure> group;
    co_await run_on(&supervisor.processes.spawner.threads(),
                    [&] { group = supervisor.processes.cgroups.make(self->tag_, self->spec_.limits); });
    if (!group) {
      self->spawn_failed(std::move(group.error()));
      co_return;
    }
    self->group_ = std::move(*group);
    request.cgroup = self->group_->processes();
  }
  request.limits = kernel_limits(self->spec_.limits, supervisor.limits.open_files);

  Reaper::Handler ended = [self](const Reaped& reaped) { self->leader_ended(reaped); };
  // The request has a copy, and nothing reads these later.
  self->spec_.env.clear();
  self->spec_.secret_env.clear();
  const std::string program =
      log::enabled(log::Level::debug) && !request.argv.empty() ? request.argv.front() : std::string{};
  const auto asked = std::chrono::steady_clock::now();
  auto started = co_await supervisor.processes.start(std::move(request), std::move(ended), self->leader_, &self->start_,
                                                     supervisor.live.count() == 1);
  supervisor.counts.spawn[0].observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count());
  self->start_again_.reset();
  if (!started) {
    self->spawn_failed(std::move(started.error()));
    co_return;
  }
  self->state_ = State::running;
  log::debug(
      "command started",
      {{"session", self->session_}, {"command", self->spec_.id}, {"pid", *started}, {"program", shortened(program)}});

  const auto add_pump = [&](UniqueFd source, Stream stream) {
    if (!source) return;
    self->pumps_.push_back(std::make_unique<OutputPump>(supervisor.executor, std::move(source), stream, self->log_,
                                                        self->changed_, supervisor.output.pump_turns));
  };
  add_pump(std::move(pipes->out), Stream::out);
  add_pump(std::move(pipes->err), Stream::err);
  for (std::size_t i = 0; i < self->pumps_.size(); ++i) supervisor.tasks.spawn("pump", pump(self, i));
  if (pipes->feed) {
    self->feed_ =
        std::make_unique<StdinFeed>(supervisor.executor, std::move(pipes->feed), self->spec_.terminal.has_value());
    supervisor.tasks.spawn("stdin", feed_input(self));
  }
  self->changed_.notify_all();
  // An `end()` that came while the child was being created could not reach it.
  if (self->ending_) self->end(*self->ending_);

  const auto leader_is_done = [&] {
    return self->reaped_ && (self->pumps_at_end() || (self->exit_drain_ && self->exit_drain_->expired() &&
                                                      (self->drained() || self->log_->waits_for_nobody())));
  };
  while (self->kills_ > 0 || !(self->given_up_ || leader_is_done())) {
    if (self->log_->overflowed()) self->end(Cause::output_limit);
    if (self->reaped_ && !self->looked_at_memory_) {
      co_await look_at_memory(self);
    } else if (self->reaped_ && self->shell_) {
      co_await keep_state(self);
    } else {
      co_await self->changed_.wait();
    }
  }
  if (!self->looked_at_memory_) co_await look_at_memory(self);
  if (self->shell_) co_await keep_state(self);
  self->exit_drain_.reset();
  std::vector<pid_t> left = co_await background(self);
  const bool has_background = !left.empty();
  if (!self->pumps_at_end()) co_await add_others(self, &left);
  ExitStatus status = self->describe_exit();
  if (!self->pumps_at_end()) status.background = std::move(left);
  self->write_exit(std::move(status));
  self->state_ = State::ended;
  for (auto& one : self->pumps_) one->mark_late();
  if (self->feed_ && self->pumps_at_end()) self->feed_->close();
  // A process outside the tree that still holds a pipe does not keep the slot from another command.
  if (!self->pumps_at_end()) {
    if (has_background) {
      supervisor.tasks.spawn("background", watch_background(self));
    } else {
      self->end_life();
    }
  }
  self->changed_.notify_all();

  while (!self->pumps_at_end() || self->kills_ > 0 || self->group_) {
    if (self->log_->overflowed()) self->end(Cause::output_limit);
    if (self->pumps_at_end() && self->kills_ == 0) {
      std::unique_ptr<CommandGroup> group = std::move(self->group_);
      co_await run_on(&supervisor.processes.ending.thread(), [&group] { group.reset(); });
    } else {
      co_await self->changed_.wait();
    }
  }
  self->timeout_.reset();
  self->idle_timeout_.reset();
  self->escalation_.reset();
  if (self->feed_) self->feed_->close();
  self->terminal_.reset();
  self->log_->end();
  self->state_ = State::over;
  self->end_life();
  if (self->stop_watching_) self->stop_watching_();
  self->changed_.notify_all();
}

void Command::end_life() {
  if (std::exchange(counted_, false)) supervisor_.live.end();
}

Task<> Command::pump(std::shared_ptr<Command> self, std::size_t index) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await self->pumps_[index]->run();
}

Task<> Command::feed_input(std::shared_ptr<Command> self) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (!self->spec_.input.empty()) {
    Slice input{std::exchange(self->spec_.input, {})};
    // A command may end or close its stdin without reading all of it. That is not an error.
    if (auto written = co_await self->feed_->write(std::move(input), std::nullopt); !written) co_return;
  }
  if (!self->spec_.input_open && !self->spec_.terminal) (void)co_await self->feed_->finish();
}

Task<Result<std::uint64_t>> Command::write_stdin(Slice bytes, std::optional<std::uint64_t> offset) {
  const auto self = shared_from_this();
  co_await started();
  if (!feed_) co_return fail(Errc::stdin_closed, "the command was started without an open stdin");
  co_return co_await feed_->write(std::move(bytes), offset);
}

Task<Result<>> Command::close_stdin() {
  const auto self = shared_from_this();
  co_await started();
  if (!feed_) co_return fail(Errc::stdin_closed, "the command was started without an open stdin");
  co_return co_await feed_->finish();
}

Result<> Command::resize(TerminalSize size) {
  if (!spec_.terminal) return fail(Errc::not_a_terminal, "command \"" + spec_.id + "\" has no terminal");
  if (over() || !terminal_) return fail(Errc::command_ended, "command \"" + spec_.id + "\" has ended");
  return resize_terminal(terminal_.get(), size);
}

Task<> Command::gone() {
  const auto self = shared_from_this();
  while (!over()) co_await changed_.wait();
}

void Command::trim_request() {
  std::size_t left = kKeptOfRequest;
  const auto cut = [&left](std::string& text) {
    if (text.size() > left) {
      // Do not cut inside a UTF-8 character.
      while (left > 0 && (static_cast<unsigned char>(text[left]) & 0xC0U) == 0x80U) --left;
      text.resize(left);
      text.shrink_to_fit();
    }
    left -= text.size();
  };
  if (spec_.line) cut(*spec_.line);
  std::size_t kept = 0;
  for (; kept < spec_.argv.size() && left > 0; ++kept) cut(spec_.argv[kept]);
  spec_.argv.resize(kept);
  spec_.argv.shrink_to_fit();
}

Task<bool> Command::waiting_for_input() {
  if (state_ != State::running || stdin_inode_ == 0) co_return false;
  auto look = [all = tree(), inode = stdin_inode_] { return waits_for_input(all, inode); };
  co_return co_await supervisor_.processes.looks.run(std::move(look));
}

void Command::watch_time() {
  if (spec_.timeout) {
    timeout_.emplace(supervisor_.executor, [this] { end(Cause::timeout); });
    timeout_->expires_after(*spec_.timeout);
  }
  if (spec_.idle_timeout) {
    idle_timeout_.emplace(supervisor_.executor, [this] {
      const auto quiet =
          std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - log_->last_output());
      if (quiet >= *spec_.idle_timeout) {
        end(Cause::idle_timeout);
      } else {
        idle_timeout_->expires_after(*spec_.idle_timeout - quiet);
      }
    });
    idle_timeout_->expires_after(*spec_.idle_timeout);
  }
}

void Command::leader_ended(const Reaped& reaped) {
  reaped_ = reaped;
  if (over()) return;  // the leader was given up
  // A shell whose last program was killed exits with 128 + the signal.
  const bool killed = WIFSIGNALED(reaped.status)
                          ? WTERMSIG(reaped.status) == SIGKILL
                          : WIFEXITED(reaped.status) && WEXITSTATUS(reaped.status) == kShellsSignal + SIGKILL;
  killed_unasked_ = killed && !ending_;
  cause_at_exit_ = ending_;  // a later end of background processes is not why the leader ended
  wall_ = since_start();
  for (auto& one : pumps_) one->leader_ended();
  if (!pumps_at_end()) {
    exit_drain_.emplace(supervisor_.executor, [this] { changed_.notify_all(); });
    exit_drain_->expires_after(supervisor_.limits.exit_drain);
  }
  changed_.notify_all();
}

void Command::spawn_failed(SpawnFailure failure) {
  ExitStatus status;
  status.exit_code = shell_exit_code(failure);
  status.cause = Cause::spawn_failed;
  const bool given_up = failure.error == ECANCELED && ending_;
  if (given_up) {
    status.exit_code.reset();
    status.cause = *ending_;
  }
  if (std::exchange(shell_, nullptr)) status.state_saved = StateSaved::discarded;
  status.output_complete = true;
  if (!given_up) status.failure = std::move(failure);
  status.ended_at = wall_now();
  std::string{}.swap(spec_.input);  // assigning an empty string would keep the memory
  if (group_) supervisor_.processes.ending.thread().post([group = std::move(group_)]() mutable { group.reset(); });
  timeout_.reset();
  idle_timeout_.reset();
  state_ = State::over;
  end_life();
  write_exit(std::move(status));
  log_->end();
  changed_.notify_all();
}

void Command::write_exit(ExitStatus status) {
  supervisor_.counts.count_end(status.cause);
  if (status.failure) {
    log::debug("command ended", {{"session", session_},
                                 {"command", spec_.id},
                                 {"cause", name(status.cause)},
                                 {"stage", status.failure->stage},
                                 {"errno", errno_name(status.failure->error)},
                                 {"error", shortened(status.failure->message)}});
  } else {
    log::debug("command ended", {{"session", session_},
                                 {"command", spec_.id},
                                 {"cause", name(status.cause)},
                                 {status.signal ? "signal" : "exit_code",
                                  status.signal ? *status.signal : status.exit_code.value_or(-1)},
                                 {"wall_ms", status.usage.wall}});
  }
  log_->exit(std::move(status));
}

ExitStatus Command::describe_exit() const {
  ExitStatus status;
  if (reaped_) {
    const int code = reaped_->status;
    if (WIFEXITED(code)) {
      status.exit_code = WEXITSTATUS(code);
    } else {
      status.signal = WTERMSIG(code);
      status.core_dumped = WCOREDUMP(code);
      status.cause = Cause::signaled;
    }
    if (cause_at_exit_) status.cause = *cause_at_exit_;
    const rusage& used = reaped_->usage;
    status.usage = {.wall = wall_,
                    .user = micros(used.ru_utime),
                    .system = micros(used.ru_stime),
                    .max_rss_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024,
                    .voluntary_switches = static_cast<std::uint64_t>(used.ru_nvcsw),
                    .involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw),
                    .read_blocks = static_cast<std::uint64_t>(used.ru_inblock),
                    .write_blocks = static_cast<std::uint64_t>(used.ru_oublock)};
  } else {
    // The leader could not be ended, so it has no exit status.
    status.cause = ending_.value_or(Cause::killed_by_client);
    status.usage.wall = since_start();
  }
  status.kill_level = kill_level_;
  status.state_saved = state_saved_;
  status.usage.peak_bytes = peak_bytes_;
  status.output_complete = std::ranges::all_of(pumps_, [](const auto& one) { return one->complete(); });
  status.ended_at = wall_now();
  return status;
}

std::chrono::microseconds Command::since_start() const {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_steady_);
}

bool Command::drained() const noexcept {
  return std::ranges::all_of(pumps_, [](const auto& one) { return one->leader_drained(); });
}

bool Command::pumps_at_end() const noexcept {
  return std::ranges::all_of(pumps_, [](const auto& one) { return one->at_end(); });
}

}  // namespace skiff::sessions
