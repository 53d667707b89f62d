#include "sessions/input/stdin_feed.hpp"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <boost/asio/redirect_error.hpp>

namespace skiff::sessions {
namespace asio = boost::asio;
namespace {

std::unexpected<Error> closed() {
  return fail(Errc::stdin_closed, "stdin of the command is closed");
}

}  // namespace

/// Holds the right to write. Its destructor passes the right on, also on cancellation.
class StdinFeed::Turn {
 public:
  explicit Turn(StdinFeed& feed) : feed_{feed} { feed_.busy_ = true; }
  ~Turn() {
    feed_.busy_ = false;
    feed_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StdinFeed& feed_;
};

StdinFeed::StdinFeed(Executor executor, UniqueFd sink, bool terminal)
    : sink_{executor, sink.release()}, changed_{executor}, terminal_{terminal} {}

Task<Result<std::uint64_t>> StdinFeed::write(Slice bytes, std::optional<std::uint64_t> offset) {
  while (open_ && busy_) co_await changed_.wait();
  const bool is_repeated = finished_ && offset && bytes.size() <= offset_ && *offset <= offset_ - bytes.size();
  if (is_repeated) co_return offset_;
  if (!open_) co_return closed();
  const Turn turn{*this};
  if (offset) {
    if (*offset > offset_) {
      co_return fail(Errc::stdin_offset_mismatch, "stdin has taken " + std::to_string(offset_) +
                                                      " bytes, the write starts at " + std::to_string(*offset));
    }
    const std::uint64_t known = offset_ - *offset;
    bytes = known >= bytes.size() ? Slice{} : bytes.sub(static_cast<std::size_t>(known));
  }
  SKIFF_CO_TRY_VOID(co_await put(std::move(bytes), true));
  co_return offset_;
}

Task<Result<>> StdinFeed::put(Slice bytes, bool counted) {
  while (!bytes.empty()) {
    if (!open_) co_return closed();
    const ssize_t taken = ::write(sink_.native_handle(), bytes.data(), bytes.size());
    if (taken > 0) {
      bytes = bytes.sub(static_cast<std::size_t>(taken));
      if (counted) offset_ += static_cast<std::uint64_t>(taken);
    } else if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      boost::system::error_code error;
      co_await sink_.async_wait(asio::posix::descriptor_base::wait_write, asio::redirect_error(use_task, error));
      if (error && open_) throw boost::system::system_error{error};
    } else if (taken < 0 && errno != EINTR) {
      close();  // EPIPE: the command has closed its end; EIO: the terminal is gone
      co_return closed();
    }
  }
  co_return Result<>{};
}

Task<Result<>> StdinFeed::finish() {
  while (open_ && busy_) co_await changed_.wait();
  if (finished_) co_return Result<>{};
  if (!open_) co_return closed();
  const Turn turn{*this};
  if (!terminal_) {
    finished_ = true;
    close();
    co_return Result<>{};
  }
  termios settings{};
  const char typed =
      ::tcgetattr(sink_.native_handle(), &settings) == 0 ? static_cast<char>(settings.c_cc[VEOF]) : '\x04';
  Slice end_of_file{std::string(1, typed)};
  co_return co_await put(std::move(end_of_file), false);
}

void StdinFeed::close() {
  if (!std::exchange(open_, false)) return;
  boost::system::error_code ignored;
  sink_.close(ignored);
  changed_.notify_all();
}

}  // namespace skiff::sessions
