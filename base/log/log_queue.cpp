#include "base/log/log_queue.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

#include "base/worker_thread.hpp"

namespace skiff {
namespace {

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EAGAIN) {
      // Another process that shares the descriptor has made it non-blocking.
      pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// Writes whole lines, as many at a time as a pipe takes atomically, so output of other processes falls between lines.
/// Returns how many lines could not be written.
std::uint64_t write_lines(int fd, std::string_view text) {
  while (!text.empty()) {
    std::size_t size = text.size();
    if (size > PIPE_BUF) size = text.rfind('\n', PIPE_BUF - 1) + 1;
    if (size == 0) size = text.find('\n') + 1;
    if (!write_whole(fd, text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

bool write_line_of(LogQueue::TellLost tell, std::uint64_t lost, int fd) {
  try {
    return write_lines(fd, tell(lost)) == 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

struct LogQueue::State {
  State(int descriptor, TellLost tell, std::size_t most) : fd{descriptor}, tell_lost{tell}, most_waiting{most} {}
  void serve();
  [[nodiscard]] bool idle() const { return waiting.empty() && !writing; }

  const int fd;
  const TellLost tell_lost;
  const std::size_t most_waiting;
  std::atomic<std::uint64_t> lost{0};
  std::mutex mutex;
  std::condition_variable came;     ///< notifies the thread
  std::condition_variable written;  ///< notifies the callers that wait for the thread
  std::string waiting;              ///< guarded by mutex, as are the members below
  std::uint64_t lost_untold = 0;
  bool urgent = false;
  bool writing = false;
  bool stopping = false;
  bool ended = false;
};

LogQueue::LogQueue(int fd, TellLost tell_lost, std::size_t most_waiting)
    : state_{std::make_shared<State>(fd, tell_lost, most_waiting)},
      writer_{start_worker([state = state_] { state->serve(); })} {}

LogQueue::~LogQueue() {
  bool ended = false;
  {
    std::unique_lock lock{state_->mutex};
    state_->stopping = true;
    state_->came.notify_one();
    ended = state_->written.wait_for(lock, kPatience, [this] { return state_->ended; });
  }
  // A thread that is stuck in a write ends with the process.
  ended ? writer_.join() : writer_.detach();
}

void LogQueue::put(std::string_view line, bool urgent) noexcept {
  State& state = *state_;
  const std::lock_guard lock{state.mutex};
  const bool first = state.waiting.empty();
  bool taken = state.waiting.size() + line.size() <= state.most_waiting;
  try {
    if (taken) state.waiting += line;
  } catch (const std::bad_alloc&) {
    taken = false;
  }
  if (!taken) {
    ++state.lost_untold;
    state.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (urgent) state.urgent = true;
  if (first || urgent) state.came.notify_one();
}

void LogQueue::flush() noexcept {
  std::unique_lock lock{state_->mutex};
  state_->urgent = true;
  state_->came.notify_one();
  state_->written.wait_for(lock, kPatience, [this] { return state_->idle(); });
}

std::uint64_t LogQueue::lost() const noexcept {
  return state_->lost.load(std::memory_order_relaxed);
}

void LogQueue::State::serve() {
  pthread_setname_np(pthread_self(), "skiff-log");
  std::unique_lock lock{mutex};
  for (;;) {
    came.wait(lock, [this] { return stopping || !waiting.empty(); });
    if (waiting.empty()) break;
    came.wait_for(lock, kGather, [this] { return stopping || urgent; });
    const std::string text = std::exchange(waiting, {});
    const std::uint64_t before = std::exchange(lost_untold, 0);
    urgent = false;
    writing = true;
    lock.unlock();
    const std::uint64_t failed = write_lines(fd, text);
    lost.fetch_add(failed, std::memory_order_relaxed);
    const bool told = failed == 0 && before > 0 && write_line_of(tell_lost, before, fd);
    lock.lock();
    lost_untold += failed + (told ? 0 : before);
    writing = false;
    written.notify_all();
  }
  ended = true;
  written.notify_all();
}

}  // namespace skiff
