#include "sessions/shell_trial.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

namespace skiff::sessions {
namespace {

constexpr std::chrono::milliseconds kTrialTime{10'000};
struct TrialLine {
  std::string_view text;
  int status;  ///< exit status of a suitable shell
};
/// In a suitable shell the second line finds the state that the first left.
constexpr std::array kStatefulLines{TrialLine{"cd /; skiff_trial=1", 0},
                                    TrialLine{R"(test "$PWD:$skiff_trial" = /:1)", 0}};
constexpr std::array kLoginLines{TrialLine{"exit 71", 71}};
/// Bounds the set, which also holds shells that were since changed or removed.
constexpr std::size_t kMostPassed = 64;

/// Key of a passed trial: the shell's file and what the session needs. Empty if stat(2) fails.
std::string trial_key(const std::string& shell, const SessionSpec& wanted) {
  struct stat file{};
  if (::stat(shell.c_str(), &file) != 0) return {};
  std::string key = shell;
  for (const std::uint64_t number :
       {std::uint64_t{file.st_dev}, std::uint64_t{file.st_ino}, static_cast<std::uint64_t>(file.st_size),
        static_cast<std::uint64_t>(file.st_mtim.tv_sec), static_cast<std::uint64_t>(file.st_mtim.tv_nsec),
        static_cast<std::uint64_t>(file.st_ctim.tv_sec), static_cast<std::uint64_t>(file.st_ctim.tv_nsec),
        std::uint64_t{wanted.stateful_shell}, std::uint64_t{wanted.login_shell},
        static_cast<std::uint64_t>(wanted.isolation)}) {
    key.append(1, ' ').append(std::to_string(number));
  }
  return key;
}

std::unexpected<Error> unsuitable(const std::string& shell, const SessionSpec& wanted, const ExitStatus& ended) {
  const std::string named = "the shell \"" + shell + "\" ";
  std::string message;
  if (ended.failure) {
    message = named + "can't be run: " + ended.failure->message;
  } else if (ended.cause == Cause::timeout) {
    message = named + "did not end a line of its own within 10 s";
  } else if (::access("/dev/null", W_OK) != 0) {
    message = named + "can't do without /dev/null: " + errno_text(errno);
  } else if (wanted.stateful_shell) {
    message = named +
              "can't keep its state from line to line, as a stateful session needs it: bash, dash, mksh and "
              "busybox's ash can, zsh, fish and csh can't";
  } else {
    message = named + "can't be a login shell: with -l and -c it ran no line";
  }
  return fail(Errc::shell_unsuitable, std::move(message), "/shell");
}

std::unexpected<Error> stops() {
  return fail(Errc::draining, "the agent is stopping and takes no new work");
}

}  // namespace

std::vector<std::shared_ptr<Session>> ShellTrial::close() {
  closed_ = true;
  return {running_.begin(), running_.end()};
}

Task<Result<>> ShellTrial::pass(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules) {
  if (!wanted.stateful_shell && !wanted.login_shell) co_return Result<>{};
  const std::string shell = wanted.shell.value_or(defaults_.shell);
  auto look = [&shell, &wanted] { return trial_key(shell, wanted); };
  const std::string key = co_await supervisor_.disk.run(std::move(look));
  if (passed_.contains(key) || supervisor_.live.are_full()) co_return Result<>{};
  if (closed_) co_return stops();
  if (!supervisor_.live.admit()) co_return Result<>{};
  SKIFF_CO_TRY_VOID(co_await run(std::move(wanted), std::move(root), std::move(rules)));
  if (passed_.size() >= kMostPassed) passed_.clear();
  if (!key.empty()) passed_.insert(key);
  co_return Result<>{};
}

Task<Result<>> ShellTrial::run(SessionSpec wanted, std::string root, std::shared_ptr<const Ruleset> rules) {
  SessionSpec spec;
  spec.id = "shell-trial";
  spec.user = wanted.user;
  spec.shell = wanted.shell.value_or(defaults_.shell);
  spec.login_shell = wanted.login_shell;
  spec.stateful_shell = wanted.stateful_shell;
  spec.isolation = wanted.isolation;
  spec.limits = wanted.limits;
  // Keep the user's start files out of the trial: no ENV, no BASH_ENV, no profile in HOME.
  spec.env_inherit = false;
  spec.env["HOME"] = "/nonexistent";
  Session::Root opened{.path = std::move(root), .tree = nullptr, .rules = std::move(rules)};
  const auto session =
      std::make_shared<Session>(supervisor_, ledger_, defaults_, std::move(spec), std::move(opened), [] {});
  struct Running {
    ~Running() { all.remove(session); }
    std::list<std::shared_ptr<Session>>& all;
    const std::shared_ptr<Session>& session;
  };
  running_.push_back(session);
  const Running running{running_, session};
  auto user = co_await session->find_user(std::nullopt);
  Result<> outcome{};
  const std::span<const TrialLine> lines =
      wanted.stateful_shell ? std::span<const TrialLine>{kStatefulLines} : kLoginLines;
  for (const auto& [text, status] : lines) {
    CommandSpec line;
    line.line = text;
    line.timeout = kTrialTime;
    line.kill_grace = std::chrono::milliseconds{0};
    line.keep_bytes = std::size_t{4} << 10U;
    auto started = session->start(std::move(line), user);
    // If a command cannot be started, each later command reports why.
    if (!started) break;
    const std::shared_ptr<Command> command = started->command;
    co_await command->gone();
    const ExitStatus ended = command->exit_status().value_or(ExitStatus{});
    const bool saved = !wanted.stateful_shell || ended.state_saved == StateSaved::saved;
    if (ended.cause == Cause::shutdown) {
      outcome = stops();
    } else if (ended.exit_code != status || !saved) {
      outcome = unsuitable(session->spec().shell.value_or(""), wanted, ended);
    }
    if (!outcome) break;
  }
  co_await session->close(Cause::session_deleted);
  co_return outcome;
}

}  // namespace skiff::sessions
