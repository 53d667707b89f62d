#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/async/timer.hpp"
#include "base/clock.hpp"
#include "base/kernel_features.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/process_looks.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

namespace {

using std::chrono::milliseconds;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

/// Processes watched at a time; each takes a descriptor.
constexpr std::size_t kWatched = 32;
constexpr milliseconds kFirstTreeLook{10};
constexpr milliseconds kLastLook{100};

/// Waits until the process has ended, or until `deadline`.
Task<> ended(UniqueFd process, SteadyTime deadline) {
  const Executor executor = co_await asio::this_coro::executor;
  auto descriptor = std::make_shared<Descriptor>(executor, process.release());
  Timer timer{executor, deadline};
  timer.async_wait([weak = std::weak_ptr{descriptor}](const boost::system::error_code& error) {
    const auto alive = weak.lock();
    if (!error && alive) alive->cancel();
  });
  co_await descriptor->async_wait(Descriptor::wait_read, asio::as_tuple(use_task));
}

/// Whether the leader is not reaped yet, or its group has a process. Every scan of /proc may miss a chain of forks, but
/// kill(2) on a group cannot: while a process is in the group, its number is not reused. Reactor thread only, where no
/// pid is freed meanwhile.
bool leaves_a_trace(const Tree& tree) {
  if (!tree.leader || tree.leader->pid == 0) return false;
  if (!tree.leader->reaped()) return true;
  const bool number_is_taken = ::kill(tree.leader->pid, 0) == 0 || errno == EPERM;
  return !number_is_taken && (::kill(-tree.leader->pid, 0) == 0 || errno == EPERM);
}

/// Kills the leader's group in one call, which no fork escapes (kill(2)), while the leader's pid is not freed. Reactor
/// thread only.
void kill_group(const Tree& tree) {
  if (tree.leader && tree.leader->pid > 0 && !tree.leader->reaped()) ::kill(-tree.leader->pid, SIGKILL);
}

/// Waits until the tree's current processes have ended, or until `deadline`; new ones may appear meanwhile.
/// `nothing_left` returns true when there was none.
class Watch {
 public:
  Watch(ProcessLooks* looks, Tree tree, SteadyTime deadline)
      : looks_{looks}, tree_{std::move(tree)}, deadline_{deadline} {}

  Task<bool> nothing_left() {
    auto look = [this] { return pids_of(tree_); };
    const std::vector<pid_t> left = co_await looks_->run(std::move(look));
    if (left.empty()) {
      if (!leaves_a_trace(tree_)) co_return true;
      // The reactor reaps a zombie in its next turns.
      Task<> wait = pause(kFirstTreeLook);
      co_await std::move(wait);
      co_return false;
    }
    if (kernel_features().pidfd) {
      std::vector<UniqueFd> watched;
      for (const pid_t pid : left) {
        if (watched.size() == kWatched) break;
        UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        if (process) watched.push_back(std::move(process));
      }
      if (!watched.empty()) {
        // All of them have to end, so waiting for one after the other takes no longer.
        for (UniqueFd& process : watched) {
          Task<> wait = ended(std::move(process), deadline_);
          co_await std::move(wait);
        }
        co_return false;
      }
    }
    // Without pidfds the kernel does not report the end of a process that is not a child, so poll, at growing
    // intervals.
    const auto rest = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
    Task<> wait = pause(std::clamp(rest, milliseconds{1}, next_look_));
    co_await std::move(wait);
    next_look_ = std::min(next_look_ * 2, kLastLook);
    co_return false;
  }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= deadline_; }

 private:
  ProcessLooks* looks_;
  Tree tree_;
  SteadyTime deadline_;
  milliseconds next_look_ = kFirstTreeLook;
};

}  // namespace

Task<bool> end_tree(ProcessLooks* looks, Tree tree, milliseconds grace, milliseconds patience) {
  if (grace > milliseconds{0}) {
    // Send SIGTERM first: a stopped process then finds it pending when SIGCONT continues it.
    auto ask = [&tree] { return signal_tree(tree, SIGTERM) > 0 ? signal_tree(tree, SIGCONT) : 0; };
    const std::size_t asked = co_await looks->run(std::move(ask));
    Watch watch{looks, tree, std::chrono::steady_clock::now() + grace};
    while (asked > 0 && !watch.over()) {
      const bool none = co_await watch.nothing_left();
      if (none) break;
    }
  }
  Watch watch{looks, tree, std::chrono::steady_clock::now() + patience};
  for (int empty = 0; empty < 2;) {
    // One pass can miss a process that is forked to a pid already passed, so two empty passes are needed. A process
    // with SIGKILL pending cannot fork, so each pass leaves fewer.
    kill_group(tree);
    auto kill_all = [&tree] { return signal_tree(tree, SIGKILL); };
    (void)co_await looks->run(std::move(kill_all));
    const bool none = co_await watch.nothing_left();
    empty = none ? empty + 1 : 0;
    if (none || !watch.over()) continue;
    auto look = [&tree] { return pids_of(tree); };
    const std::vector<pid_t> left = co_await looks->run(std::move(look));
    co_return left.empty() && !leaves_a_trace(tree);
  }
  co_return true;
}

}  // namespace skiff::sessions
