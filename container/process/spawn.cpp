#include "container/process/spawn.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <system_error>

// Otherwise Boost.Process needs Boost.Filesystem.
#define BOOST_PROCESS_USE_STD_FS
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/search_path.hpp>

#include "base/unique_fd.hpp"
#include "container/process/open_files.hpp"

// Boost.Process forks, runs the program, and reports why it could not; docs/adr/0003 describes the rest, which this
// file does.
namespace skiff::container {
namespace {

namespace bp = boost::process;

constexpr int kFirstOther = STDERR_FILENO + 1;
constexpr int kNotStarted = 127;

/// For a kernel without CLOSE_RANGE_CLOEXEC (before 5.11).
void close_each_on_exec() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1U << 20U));
  for (int fd = kFirstOther; fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// The kernel's struct. The C library keeps signals 32 and 33 for itself: its functions refuse them, and its
/// posix_spawn(3) leaves them ignored in the child, and so in all programs that GNU make starts.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};
constexpr int kSignals = 64;

/// Removes our handlers, which must not run in the child. With `ignored_too`, for a daemon, also resets ignored
/// signals.
void reset_signals(bool ignored_too) noexcept {
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action{};
    if (::syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask) != 0) continue;
    if (action.handler == SIG_DFL || (action.handler == SIG_IGN && !ignored_too)) continue;
    action = {};
    ::syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
  }
}

/// Blocks all signals while it lives, the C library's too: a signal that came to the child before its handlers were
/// reset would run them there.
class BlockedSignals {
 public:
  BlockedSignals() noexcept { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kAll, &before_, sizeof kAll); }
  ~BlockedSignals() { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  std::uint64_t before_ = 0;
};

/// The functions that Boost.Process calls while it starts the child.
struct Hooks : bp::extend::handler {
  const char* directory = nullptr;  ///< null: keep ours
  bool is_daemon = false;
  std::array<int, 3> standard{};  ///< all above STDERR_FILENO, so that none is overwritten before it is used
  char** environment = nullptr;
  std::optional<rlimit> open_files;

  template <class Exec>
  void on_setup(Exec& exec) const {
    exec.env = environment;
  }

  /// Runs in the child, which has one thread and a copy of the memory of many: only system calls are allowed.
  template <class Exec>
  void on_exec_setup(Exec& exec) const {
    const bool is_ready = (!is_daemon || ::setsid() >= 0) && (directory == nullptr || ::chdir(directory) == 0) &&
                          ::dup2(standard[0], STDIN_FILENO) >= 0 && ::dup2(standard[1], STDOUT_FILENO) >= 0 &&
                          ::dup2(standard[2], STDERR_FILENO) >= 0;
    if (!is_ready) {
      // Without this exit Boost.Process would run the program all the same.
      exec.set_error(std::error_code{errno, std::system_category()}, "");
      ::_exit(kNotStarted);
    }
    // Mark the other descriptors close-on-exec instead of closing them: Boost.Process reports a failed exec by one of
    // them. If other threads start children at the same time, their descriptors for that are among them, too.
    if (::close_range(kFirstOther, ~0U, CLOSE_RANGE_CLOEXEC) != 0) close_each_on_exec();
    // This cannot fail: it lowers the soft limit.
    if (open_files) ::setrlimit(RLIMIT_NOFILE, &*open_files);
    reset_signals(is_daemon);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  /// Boost.Process checks only once whether a child that could not run the program has ended; wait for its end here.
  template <class Exec>
  void on_error(Exec& exec, const std::error_code& /*error*/) const {
    while (exec.pid > 0 && ::waitpid(exec.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
};

/// Duplicates `fd`, or opens /dev/null, on a number above the standard descriptors.
UniqueFd beyond_standard(int fd, int flags) {
  const UniqueFd null{fd >= 0 ? -1 : ::open("/dev/null", flags | O_CLOEXEC)};
  return UniqueFd{::fcntl(fd >= 0 ? fd : null.get(), F_DUPFD_CLOEXEC, kFirstOther)};
}

}  // namespace

std::expected<pid_t, int> spawn(const Spawn& plan) {
  std::string program = plan.argv.front();
  if (!program.contains('/')) program = bp::search_path(program).string();
  if (program.empty()) return std::unexpected{ENOENT};
  const std::array standard{beyond_standard(plan.input, O_RDONLY), beyond_standard(plan.output, O_WRONLY),
                            beyond_standard(plan.errors, O_WRONLY)};
  for (const UniqueFd& fd : standard) {
    if (!fd) return std::unexpected{errno};
  }
  std::vector<std::string> variables = plan.environment;
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  Hooks hooks;
  hooks.directory = plan.directory.empty() ? nullptr : plan.directory.c_str();
  hooks.is_daemon = plan.is_daemon;
  hooks.standard = {standard[0].get(), standard[1].get(), standard[2].get()};
  hooks.environment = environment.data();
  hooks.open_files = open_files_before();

  const BlockedSignals blocked;
  std::error_code error;
  bp::child child{bp::exe = program, bp::args = std::vector(plan.argv.begin() + 1, plan.argv.end()), hooks, error};
  if (error) return std::unexpected{error.value()};
  const pid_t pid = child.id();
  child.detach();
  return pid;
}

}  // namespace skiff::container
