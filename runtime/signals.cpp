#include "runtime/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/log.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;

Signals::Signals() {
  sigemptyset(&set_);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
  sigprocmask(SIG_BLOCK, &set_, nullptr);
}

Task<> Signals::watch(std::function<void()> stop, std::function<void()> hang_up) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::posix::basic_stream_descriptor<Executor> source{executor, ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK)};
  for (;;) {
    co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
    signalfd_siginfo info{};
    while (::read(source.native_handle(), &info, sizeof info) == sizeof info) {
      // The kubelet's signal comes from outside and carries 0, a command's carries a pid of this namespace (design:
      // self-defence). A look at the files harms nobody.
      const bool from_inside = ::getpid() == 1 && info.ssi_pid != 0;
      if (info.ssi_signo == SIGHUP) {
        hang_up();
      } else if (from_inside) {
        log::warning("a signal from inside the container was ignored", {{"pid", info.ssi_pid}});
      } else {
        stop();
      }
    }
  }
}

}  // namespace skiff::runtime
