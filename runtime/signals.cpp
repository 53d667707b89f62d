#include "runtime/signals.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <utility>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/deadline.hpp"
#include "base/log.hpp"
#include "base/small_file.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;
namespace {

constexpr std::array kHeard{SIGTERM, SIGINT, SIGHUP};

}  // namespace

bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept {
  return self != 1 || (info.ssi_code == SI_USER && info.ssi_pid == 0);
}

std::optional<std::int64_t> entries_of_others(std::string_view status) {
  const auto number = [status](std::string_view name, int base) -> std::optional<std::uint64_t> {
    std::size_t at = status.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    at += name.size();
    while (at < status.size() && (status[at] == ' ' || status[at] == '\t')) ++at;
    std::uint64_t value = 0;
    const char* const end = status.data() + status.size();
    if (std::from_chars(status.data() + at, end, value, base).ec != std::errc{}) return std::nullopt;
    return value;
  };
  const auto queued = number("\nSigQ:", 10);
  const auto waiting = number("\nShdPnd:", 16);
  if (!queued || !waiting) return std::nullopt;
  return static_cast<std::int64_t>(*queued) - std::popcount(*waiting);
}

namespace {

std::optional<std::int64_t> entries_of_others_now() {
  constexpr std::size_t kMost = std::size_t{16} << 10U;
  const auto status = read_small_file("/proc/self/status", kMost);
  return status ? entries_of_others(*status) : std::nullopt;
}

/// Whether a signal that was just read had no entry. Other processes of the user send signals, too: theirs go again.
bool had_no_entry(std::optional<std::int64_t> before) {
  constexpr int kLooks = 5;
  if (!before) return false;
  for (int look = 0; look < kLooks; ++look) {
    const auto after = entries_of_others_now();
    if (!after || *after <= *before) return false;
  }
  return true;
}

/// Tells the log of signals that don't count, one line a second at most.
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

Task<> Signals::watch(std::function<void()> stop, std::function<void(bool from_outside)> hang_up) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK)};
  Uncounted uncounted{executor};
  for (;;) {
    co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
    const pid_t self = ::getpid();
    // No more than can wait: whoever sends without end must not keep the thread here.
    for (std::size_t left = kHeard.size(); left > 0; --left) {
      const auto before = self == 1 ? entries_of_others_now() : std::nullopt;
      signalfd_siginfo info{};
      if (::read(source.native_handle(), &info, sizeof info) != sizeof info) break;
      const bool from_outside = is_from_outside(info, self) && !had_no_entry(before);
      if (!from_outside) uncounted.add(info);
      if (info.ssi_signo == SIGHUP) {
        hang_up(from_outside);
      } else if (from_outside) {
        stop();
      }
    }
  }
}

}  // namespace skiff::runtime
