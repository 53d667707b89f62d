#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"
#include "base/kernel_features.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process_tree.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

namespace {

using std::chrono::milliseconds;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

/// Processes watched at a time: their ends are awaited together, and a descriptor each is taken for it.
constexpr std::size_t kWatched = 32;
constexpr milliseconds kFirstTreeLook{10};
constexpr milliseconds kLastLook{100};

/// Ends when the process has ended, or at `deadline`.
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

Task<> pause(milliseconds time) {
  Timer timer{co_await asio::this_coro::executor, time};
  co_await timer.async_wait(use_task);
}

/// Waits until the processes that carry `tag` now have ended, or until `deadline`; some may have come meanwhile. True
/// when there was none.
class Watch {
 public:
  Watch(Tag tag, SteadyTime deadline) : tag_{tag}, deadline_{deadline} {}

  Task<bool> nothing_left() {
    const auto left = pids_with(tag_);
    if (left.empty()) co_return true;
    if (kernel_features().pidfd) {
      std::vector<UniqueFd> watched;
      for (const pid_t pid : left) {
        if (watched.size() == kWatched) break;
        UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        if (process) watched.push_back(std::move(process));
      }
      if (!watched.empty()) {
        // All have to end, so one after the other waits no longer than all at once.
        for (UniqueFd& process : watched) {
          Task<> wait = ended(std::move(process), deadline_);
          co_await std::move(wait);
        }
        co_return false;
      }
    }
    // Without pidfds the kernel tells nobody about the end of a process that is not a child: looking again, ever less
    // often, is all there is.
    const auto rest = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
    Task<> wait = pause(std::clamp(rest, milliseconds{1}, next_look_));
    co_await std::move(wait);
    next_look_ = std::min(next_look_ * 2, kLastLook);
    co_return false;
  }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= deadline_; }

 private:
  Tag tag_;
  SteadyTime deadline_;
  milliseconds next_look_ = kFirstTreeLook;
};

}  // namespace

Task<bool> end_tree(Tag tag, milliseconds grace, milliseconds patience) {
  if (grace > milliseconds{0} && signal_tree(tag, SIGTERM) > 0) {
    // Order matters: a stopped process that is continued finds the SIGTERM waiting.
    signal_tree(tag, SIGCONT);
    Watch watch{tag, std::chrono::steady_clock::now() + grace};
    while (!watch.over()) {
      const bool none = co_await watch.nothing_left();
      if (none) break;
    }
  }
  Watch watch{tag, std::chrono::steady_clock::now() + patience};
  for (int empty = 0; empty < 2;) {
    // A pass can miss a process that is forked into a pid already passed: so two of them. A process with SIGKILL
    // pending can't fork any more, so each pass leaves fewer.
    signal_tree(tag, SIGKILL);
    const bool none = co_await watch.nothing_left();
    empty = none ? empty + 1 : 0;
    if (!none && watch.over()) co_return pids_with(tag).empty();
  }
  co_return true;
}

}  // namespace skiff::sessions
