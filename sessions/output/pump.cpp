#include "sessions/output/pump.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/log/log.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;
namespace {

// A writer of big blocks is up to four times as fast through a big pipe; a small command should not take memory for
// one.
constexpr std::size_t kBulkRead = std::size_t{64} << 10U;
constexpr int kBulkPipe = 1 << 20;

}  // namespace

OutputPump::OutputPump(Executor executor, UniqueFd source, Stream stream, std::shared_ptr<OutputLog> log,
                       Event& progress, Turns& turns)
    : source_{executor, source.release()}, stream_{stream}, log_{std::move(log)}, progress_{progress}, turns_{turns} {}

ino_t OutputPump::inode() {
  struct stat info{};
  return ::fstat(source_.native_handle(), &info) == 0 ? info.st_ino : 0;
}

Task<> OutputPump::run() {
  std::size_t turn = 0;
  try {
    while (!at_end_ && source_.is_open()) {
      while (log_->must_wait()) co_await log_->room();
      if (!source_.is_open()) break;
      const std::size_t share = turns_.bytes();
      std::span<char> room = log_->prepare();
      room = room.first(std::min(room.size(), share));
      const ssize_t got = ::read(source_.native_handle(), room.data(), room.size());
      if (got > 0) {
        const auto size = static_cast<std::size_t>(got);
        if (!enlarged_ && size >= std::min(kBulkRead, share)) {
          enlarged_ = true;
          // EPERM: the user's pipe pages are used up (pipe(7), pipe-user-pages-soft). The default size is enough then.
          ::fcntl(source_.native_handle(), F_SETPIPE_SZ, kBulkPipe);
        }
        log_->append(stream_, size, late_);
        if (left_of_leader_ > 0 && (left_of_leader_ -= got) <= 0) progress_.notify_all();
        if (log_->overflowed()) progress_.notify_all();
        turn += size;
        if (turn >= share) {
          turn = 0;
          co_await turns_.next();
        }
      } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (std::exchange(left_of_leader_, 0) > 0) progress_.notify_all();
        turn = 0;
        co_await source_.async_wait(asio::posix::descriptor_base::wait_read, use_task);
      } else if (got == 0 || errno != EINTR) {
        at_end_ = true;  // end of file, or EIO: the terminal's last user is gone (pty(7))
      }
    }
  } catch (const std::bad_alloc&) {
    // Close the pipe below, so that the wait for its end does not last for ever.
    log::error("no memory for a command's output: its pipe is closed");
  }
  at_end_ = true;
  left_of_leader_ = 0;
  boost::system::error_code ignored;
  source_.close(ignored);
  progress_.notify_all();
}

std::uint64_t OutputPump::waiting() {
  int bytes = 0;
  return !at_end_ && ::ioctl(source_.native_handle(), FIONREAD, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void OutputPump::leader_ended() {
  left_of_leader_ = static_cast<std::int64_t>(waiting());
}

void OutputPump::abandon() {
  if (std::exchange(at_end_, true)) return;
  abandoned_ = true;
  left_of_leader_ = 0;
  boost::system::error_code ignored;
  source_.close(ignored);
  progress_.notify_all();
}

}  // namespace skiff::sessions
