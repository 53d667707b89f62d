#include "runtime/workload.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log/log.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/spawn/environment.hpp"

namespace skiff::runtime {
namespace {

UniqueFd duplicate(int fd) {
  return UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
}

}  // namespace

Workload::Workload(sessions::Supervisor& supervisor, std::vector<std::string> argv, sessions::Variables env,
                   const InheritedLimits& inherited)
    : supervisor_{supervisor},
      argv_{std::move(argv)},
      env_{std::move(env)},
      inherited_{inherited},
      changed_{supervisor.executor},
      tag_{supervisor.processes.spawner.new_tag()} {}

Task<Result<>> Workload::start() {
  sessions::SpawnRequest request;
  request.argv = argv_;
  request.env = sessions::Environment{env_}.block();
  request.in = duplicate(STDIN_FILENO);
  request.out = duplicate(STDOUT_FILENO);
  request.err = duplicate(STDERR_FILENO);
  request.tag = tag_;
  request.limits = {{RLIMIT_NOFILE, inherited_.open_files}};
  // The workload is the container's main program, so no command may have a higher priority.
  request.nice = 0;
  auto ended = [this](const sessions::Reaped& reaped) {
    running_ = false;
    status_ = WIFEXITED(reaped.status) ? WEXITSTATUS(reaped.status) : sessions::kShellsSignal + WTERMSIG(reaped.status);
    log::info("the workload has ended", {{"status", status_}});
    changed_.notify_all();
  };
  auto pid = co_await supervisor_.processes.start(std::move(request), std::move(ended));
  if (!pid) {
    status_ = shell_exit_code(pid.error());
    co_return fail(Errc::invalid_request, "the workload: " + pid.error().message);
  }
  pid_ = *pid;
  running_ = true;
  log::info("the workload runs", {{"pid", pid_}, {"program", argv_.front()}});
  co_return Result<>{};
}

void Workload::terminate() {
  // Until the handler runs, the pid is still the program's (see Reaper).
  if (running_) ::kill(pid_, SIGTERM);
}

Task<> Workload::kill() {
  auto all = [this] { return sessions::signal_tree(tag_, SIGKILL); };
  (void)co_await supervisor_.processes.ending.run(std::move(all));
}

Task<> Workload::ended() {
  while (running_) co_await changed_.wait();
}

Task<> Workload::sweep() {
  (void)co_await sessions::end_tree(&supervisor_.processes.ending, tag_, supervisor_.limits.kill_grace,
                                    supervisor_.limits.kill_patience);
}

}  // namespace skiff::runtime
