#include "container/cli/output/attached.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/event.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "base/unique_fd.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/standard_input.hpp"
#include "container/cli/output/terminal.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kInputBlock = std::size_t{64} << 10U;
constexpr int kInterruptsToLeave = 3;
/// Grace for a command that ignores SIGPIPE.
constexpr std::chrono::milliseconds kPipeGrace{2'000};
constexpr int kTimedOut = 124;
constexpr int kSignaled = 128;

class Attached {
 public:
  Attached(Context& context, CommandStream& command, AttachedOptions options)
      : context_{context},
        command_{command},
        options_{std::move(options)},
        over_{context.executor()},
        tasks_{context.executor()},
        leave_{::eventfd(0, EFD_CLOEXEC)} {}

  /// Waits until the command has ended, the wanted output was written, or the user has detached.
  Task<Result<AttachedEnd>> stay() {
    begin();
    if (!options_.starts) begin_input();
    tasks_.spawn("output", keep_following());
    while (!status_ && !is_detached_) co_await over_.wait();
    // If the command has ended, its status counts, even if the user has detached.
    if (!status_) co_return AttachedEnd{.is_detached = true};
    if (!*status_) co_return std::unexpected{std::move(status_->error())};
    co_return AttachedEnd{.status = status_of_all(**status_), .is_incomplete = is_incomplete_};
  }

  Task<> end() {
    context_.signals().relay_to(nullptr);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(leave_.get(), &one, sizeof one);
    co_await end_tasks(&tasks_);
  }

 private:
  /// A loss of output or input counts for more than the command's status, and a broken pipe only if nothing else
  /// failed.
  [[nodiscard]] int status_of_all(int of_command) const {
    if (is_incomplete_) return kFailed;
    return is_unread_ && of_command == 0 ? kSignaled + SIGPIPE : of_command;
  }

  void tell_loss(const std::string& message) {
    say(message);
    is_incomplete_ = true;
  }

  /// Handles events until the command has ended or the wanted output was written.
  Task<Result<int>> follow() {
    for (;;) {
      SKIFF_CO_TRY(auto event, co_await command_.next());
      switch (event.kind) {
        case CommandStream::Event::Kind::started:
          begin_input();
          break;
        case CommandStream::Event::Kind::output: {
          const std::uint64_t end = event.offset + event.bytes.size();
          SKIFF_CO_TRY_VOID(co_await show(event.is_stderr ? STDERR_FILENO : STDOUT_FILENO, std::move(event.bytes)));
          if (options_.until && end >= *options_.until) co_return 0;
          break;
        }
        case CommandStream::Event::Kind::gap:
          tell_gap(event.offset + event.lost_bytes, event.lost_bytes);
          if (options_.until && event.offset + event.lost_bytes >= *options_.until) co_return 0;
          break;
        case CommandStream::Event::Kind::exit:
          co_return exit_status(event.exit);
      }
    }
  }

  /// A gap in output from before this call is only reported, not counted as a loss.
  void tell_gap(std::uint64_t end, std::uint64_t lost) {
    const std::string message = std::to_string(lost) + " bytes of output were dropped before they could be read";
    if (end <= options_.missed_until) return say(message);
    tell_loss(message);
  }

  Task<> keep_following() {
    status_ = co_await follow();
    over_.notify_all();
  }

  void begin() {
    if (!options_.signals) return;
    context_.signals().relay_to([this](int signal) { relay(signal); });
  }

  void begin_input() {
    if (!options_.stdin_too || std::exchange(input_begun_, true)) return;
    tasks_.spawn("input", pump_input());
  }

  void relay(int signal) {
    if (signal == SIGWINCH) {
      if (options_.terminal) tasks_.spawn("resize", resize());
      return;
    }
    if ((signal == SIGINT || signal == SIGTERM) && ++interrupts_ >= kInterruptsToLeave) {
      return context_.signals().interrupt(signal);
    }
    tasks_.spawn("signal", pass_signal(signal_word(signal)));
  }

  Task<> pass_signal(std::string word) {
    auto sent = co_await command_.signal(std::move(word));
    if (!sent && sent.error().code != Errc::command_ended) say("the signal did not arrive: " + sent.error().message);
  }

  Task<> resize() {
    if (const auto size = terminal_size()) (void)co_await command_.resize(size->columns, size->rows);
  }

  Task<> pump_input() {
    for (;;) {
      auto read = [this] { return read_stdin(leave_.get(), kInputBlock); };
      auto bytes = co_await stdin_thread_.run(std::move(read));
      if (!bytes && bytes.error().code != Errc::cancelled) tell_loss(bytes.error().message + "; the input ends here");
      if (!bytes || bytes->empty()) break;
      DetachKeys::Typed typed = options_.detach.take(*bytes);
      // `bytes` is empty while the typed characters may be the beginning of the keys.
      Result<> taken;
      if (!typed.bytes.empty()) taken = co_await command_.feed(std::move(typed.bytes));
      if (typed.is_detached) {
        is_detached_ = true;
        over_.notify_all();
        co_return;
      }
      if (!taken) {
        tell_input_failure(taken.error());
        co_return;
      }
    }
    auto ended = co_await command_.end_input();
    if (!ended) tell_input_failure(ended.error());
  }

  /// Reports a failure to pass on input, unless the command reads no more or has ended.
  void tell_input_failure(const Error& error) {
    if (error.code == Errc::stdin_closed || error.code == Errc::command_ended) return;
    tell_loss("input is no longer passed on: " + error.message);
  }

  /// Writes output. An error ends a caller that only watches the output.
  Task<Result<>> show(int fd, std::string bytes) {
    bool& is_lost = fd == STDOUT_FILENO ? is_unread_ : is_stderr_lost_;
    if (is_lost) co_return Result<>{};
    auto write = [fd, &bytes] { return write_all(fd, bytes); };
    // Write on a thread: a pipe that is full must not delay signals.
    const int error = co_await stdout_thread_.run(std::move(write));
    if (error == 0) co_return Result<>{};
    is_lost = true;
    const Error failure = system_error(error, fd == STDOUT_FILENO ? "write to stdout" : "write to stderr");
    if (error == EPIPE && fd != STDOUT_FILENO) co_return Result<>{};
    if (!options_.signals) {
      if (error == EPIPE) end_by_broken_pipe();
      co_return std::unexpected{failure};
    }
    if (error != EPIPE) tell_loss(failure.message);
    if (fd != STDOUT_FILENO) co_return Result<>{};
    std::string word = "PIPE";
    (void)co_await command_.signal(std::move(word), kPipeGrace);
    co_return Result<>{};
  }

  Context& context_;
  CommandStream& command_;
  AttachedOptions options_;
  Event over_;
  std::optional<Result<int>> status_;
  bool is_detached_ = false;
  TaskGroup tasks_;
  UniqueFd leave_;
  BlockingPool stdin_thread_{"skiff-stdin", 1};
  BlockingPool stdout_thread_{"skiff-stdout", 1};
  bool input_begun_ = false;
  bool is_unread_ = false;  ///< stdout can no longer be written
  bool is_stderr_lost_ = false;
  bool is_incomplete_ = false;
  int interrupts_ = 0;
};

}  // namespace

Task<Result<AttachedEnd>> stay_attached(Context* context, CommandStream* command, AttachedOptions options) {
  std::optional<RawTerminal> raw;
  if (options.terminal && options.stdin_too && ::isatty(STDIN_FILENO) == 1) {
    SKIFF_CO_TRY(auto entered, RawTerminal::enter());
    raw.emplace(std::move(entered));
  } else {
    options.detach = {};
  }
  const std::string again = "skiff attach " + options.sandbox + " " + command->id() +
                            (options.session == "default" ? "" : " -s " + options.session);
  Attached attached{*context, *command, std::move(options)};
  auto end = co_await finally([&] { return attached.stay(); }, [&] { return attached.end(); });
  raw.reset();
  if (end && end->is_detached) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, "\n", 1);
    say("detached, the command goes on: `" + again + "` reattaches");
  }
  co_return end;
}

int exit_status(const CommandExit& exit) {
  if (exit.cause == "spawn_failed") say(exit.error.empty() ? exit.cause : exit.error);
  if (exit.cause == "timeout") {
    say("the command was ended after --timeout");
    return kTimedOut;
  }
  if (exit.cause != "exited" && exit.cause != "signaled" && exit.cause != "spawn_failed") {
    say("the command was ended: " + exit.cause);
  }
  return exit.exit_code ? *exit.exit_code : kSignaled + signal_number(exit.signal);
}

}  // namespace skiff::container
