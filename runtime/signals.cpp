#include "runtime/signals.hpp"

#include <unistd.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/log.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;

bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept {
  return self != 1 || (info.ssi_code == SI_USER && info.ssi_pid == 0);
}

Signals::Signals() {
  sigemptyset(&set_);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
  sigprocmask(SIG_BLOCK, &set_, nullptr);
}

Task<> Signals::watch(std::function<void()> stop, std::function<void(bool from_outside)> hang_up) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK)};
  for (;;) {
    co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
    signalfd_siginfo info{};
    while (::read(source.native_handle(), &info, sizeof info) == sizeof info) {
      const bool from_outside = is_from_outside(info, ::getpid());
      if (!from_outside) {
        log::warning("a signal from inside the container does not end the agent",
                     {{"signal", info.ssi_signo}, {"pid", info.ssi_pid}});
      }
      if (info.ssi_signo == SIGHUP) {
        hang_up(from_outside);
      } else if (from_outside) {
        stop();
      }
    }
  }
}

}  // namespace skiff::runtime
