#include "container/host/host_process.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <utility>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/async/timer.hpp"
#include "base/small_file.hpp"
#include "base/unique_fd.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestProcFile = std::size_t{4} << 20U;
/// Longest wait after SIGKILL: only the kernel can delay that end.
constexpr milliseconds kKillPatience{5'000};
/// Interval of checks on a kernel without pidfds.
constexpr milliseconds kBetweenLooks{10};

std::string proc_file(pid_t pid, std::string_view name) {
  return read_small_file("/proc/" + std::to_string(pid) + "/" + std::string{name}, kLongestProcFile).value_or("");
}

/// Processes whose /proc/PID/`file`, a list of texts that each end in a zero byte, contains `word`.
std::vector<HostProcess> processes_with(std::string_view file, std::string_view word) {
  std::vector<HostProcess> found;
  std::string wanted{'\0'};
  wanted.append(word).append(1, '\0');
  for (const pid_t pid : running_pids()) {
    if (!('\0' + proc_file(pid, file)).contains(wanted)) continue;
    if (auto process = find_process(pid)) found.push_back(std::move(*process));
  }
  return found;
}

/// Takes note of the end of a process, if it was a child of this one. Returns its wait status.
int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) < 0 && errno == EINTR) {
  }
  return status;
}

/// One process, held by a pidfd where the kernel has them, so that no signal can reach a later process with the same
/// pid.
class Watched {
 public:
  Watched(Executor executor, HostProcess process) : process_{std::move(process)}, timer_{executor}, pidfd_{executor} {
    if (process_.pid <= 0) return;
    UniqueFd opened{static_cast<int>(::syscall(SYS_pidfd_open, process_.pid, 0))};
    if (opened && is_alive(process_)) pidfd_.assign(opened.release());
  }

  void send(int signal) {
    if (pidfd_.is_open()) {
      ::syscall(SYS_pidfd_send_signal, pidfd_.native_handle(), signal, nullptr, 0);
    } else if (is_alive(process_)) {
      ::kill(process_.pid, signal);
    }
  }

  Task<bool> ends_within(milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (is_alive(process_)) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= until) co_return false;
      boost::system::error_code ignored;
      if (pidfd_.is_open()) {
        // A pidfd is readable when its process has ended (pidfd_open(2)).
        limit_.expires_after(std::chrono::ceil<milliseconds>(until - now));
        co_await pidfd_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                                   boost::asio::redirect_error(use_task, ignored));
        limit_.clear();
      } else {
        timer_.expires_after(kBetweenLooks);
        co_await timer_.async_wait(boost::asio::redirect_error(use_task, ignored));
      }
    }
    co_return true;
  }

 private:
  HostProcess process_;
  Timer timer_;
  boost::asio::posix::basic_stream_descriptor<Executor> pidfd_;
  Deadline limit_{pidfd_.get_executor(), [this] { pidfd_.cancel(); }};
};

}  // namespace

std::string boot_id() {
  return read_small_file("/proc/sys/kernel/random/boot_id", 64).value_or("");
}

std::optional<HostProcess> find_process(pid_t pid) {
  const std::string stat = proc_file(pid, "stat");
  // The name in parentheses may contain any characters, even parentheses.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  std::string_view rest{stat};
  rest.remove_prefix(name_end + 2);
  const char state = rest.front();
  // `rest` begins with field 3.
  for (int field = 3; field < 22; ++field) {
    // A process whose first thread has ended lives as long as it has others (field 20).
    if (field == 20 && (state == 'X' || (state == 'Z' && (rest.starts_with("0 ") || rest.starts_with("1 "))))) {
      return std::nullopt;
    }
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  HostProcess process{.pid = pid, .started_ticks = 0, .boot = boot_id()};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), process.started_ticks);
  if (error != std::errc{}) return std::nullopt;
  return process;
}

HostProcess process_or_ended(pid_t pid) {
  return find_process(pid).value_or(HostProcess{.pid = pid, .started_ticks = 0, .boot = boot_id()});
}

bool is_alive(const HostProcess& process) {
  return process.pid > 0 && find_process(process.pid) == process;
}

std::vector<pid_t> running_pids() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) found.push_back(pid);
  }
  return found;
}

std::vector<HostProcess> processes_with_argument(std::string_view word) {
  return processes_with("cmdline", word);
}

std::vector<HostProcess> processes_with_variable(std::string_view variable) {
  return processes_with("environ", variable);
}

Result<HostProcess> start_daemon(const Spawn& daemon) {
  const auto pid = spawn(daemon);
  if (!pid) {
    return std::unexpected{
        system_error(pid.error(), "start \"" + daemon.argv.front() + "\" in \"" + daemon.directory + "\"")};
  }
  // If it has ended already, its output says why.
  return process_or_ended(*pid);
}

Task<std::optional<int>> child_end(HostProcess child, milliseconds limit) {
  Watched watched{co_await boost::asio::this_coro::executor, child};
  if (!co_await watched.ends_within(limit)) co_return std::nullopt;
  co_return reap(child.pid);
}

Task<Result<>> end_process(HostProcess process, milliseconds grace) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  Watched watched{co_await boost::asio::this_coro::executor, process};
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (signal == SIGTERM && grace.count() == 0) continue;
    watched.send(signal);
    if (co_await watched.ends_within(signal == SIGTERM ? grace : kKillPatience)) {
      (void)reap(process.pid);
      co_return Result<>{};
    }
  }
  co_return fail(Errc::timeout, "process " + std::to_string(process.pid) + " does not end, even after SIGKILL");
}

}  // namespace skiff::container
