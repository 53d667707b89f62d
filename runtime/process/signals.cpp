#include "runtime/process/signals.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/deadline.hpp"
#include "base/log/log.hpp"
#include "base/small_file.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;
namespace {

constexpr std::array kHeard{SIGTERM, SIGINT, SIGHUP};

}  // namespace

bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept {
  return self != 1 || (info.ssi_code == SI_USER && info.ssi_pid == 0);
}

std::optional<SignalQueue> signal_queue(std::string_view status) {
  constexpr std::string_view kName = "\nSigQ:\t";
  const std::size_t at = status.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const char* const end = status.data() + status.size();
  SignalQueue queue;
  const auto entries = std::from_chars(status.data() + at + kName.size(), end, queue.entries);
  if (entries.ec != std::errc{} || entries.ptr == end || *entries.ptr != '/') return std::nullopt;
  if (std::from_chars(entries.ptr + 1, end, queue.limit).ec != std::errc{}) return std::nullopt;
  return queue;
}

bool had_no_entry(const SignalQueue& before, const SignalQueue& after) noexcept {
  return (before.is_full() || after.is_full()) && after.entries >= before.entries;
}

namespace {

std::optional<SignalQueue> look_at_queue() {
  constexpr std::size_t kMost = std::size_t{16} << 10U;
  const auto status = read_small_file("/proc/self/status", kMost);
  return status ? signal_queue(*status) : std::nullopt;
}

/// Reads the queue; a full one is read up to five times, and the shortest counts, because signals of other processes
/// are in it, too.
std::optional<SignalQueue> queue_now() {
  constexpr int kLooks = 5;
  auto queue = look_at_queue();
  for (int look = 1; queue && queue->is_full() && look < kLooks; ++look) {
    const auto next = look_at_queue();
    if (!next || next->entries < queue->entries) queue = next;
  }
  return queue;
}

bool had_no_entry(const std::optional<SignalQueue>& before) {
  if (!before) return false;
  const auto after = queue_now();
  return after && runtime::had_no_entry(*before, *after);
}

/// Logs signals that are ignored, at most one line a second.
class Uncounted {
 public:
  explicit Uncounted(Executor executor) : second_{std::move(executor), [this] { tell(); }} {}

  void add(const signalfd_siginfo& info) {
    last_ = info;
    if (untold_++ == 0 && !pausing_) tell();
  }

 private:
  void tell() {
    pausing_ = untold_ > 0;
    if (!pausing_) return;
    log::warning("a signal from inside the container does not end the agent",
                 {{"signal", last_.ssi_signo}, {"pid", last_.ssi_pid}, {"signals", untold_}});
    untold_ = 0;
    second_.expires_after(std::chrono::seconds{1});
  }

  signalfd_siginfo last_{};
  std::uint64_t untold_ = 0;
  bool pausing_ = false;
  Deadline second_;
};

}  // namespace

Signals::Signals() {
  sigemptyset(&set_);
  for (const int signal : kHeard) sigaddset(&set_, signal);
  sigprocmask(SIG_BLOCK, &set_, nullptr);
}

Task<> Signals::watch(std::function<void(int signal)> stop, std::function<void(bool from_outside)> hang_up) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK)};
  Uncounted uncounted{executor};
  for (;;) {
    co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
    const pid_t self = ::getpid();
    // Read at most as many as can be pending: a flood of signals must not keep the thread here.
    for (std::size_t left = kHeard.size(); left > 0; --left) {
      const auto before = self == 1 ? queue_now() : std::nullopt;
      signalfd_siginfo info{};
      if (::read(source.native_handle(), &info, sizeof info) != sizeof info) break;
      const bool from_outside = is_from_outside(info, self) && !had_no_entry(before);
      if (!from_outside) uncounted.add(info);
      if (info.ssi_signo == SIGHUP) {
        hang_up(from_outside);
      } else if (from_outside) {
        stop(static_cast<int>(info.ssi_signo));
      }
    }
  }
}

}  // namespace skiff::runtime
