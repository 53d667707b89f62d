#include "container/launcher/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace skiff::container {
namespace {

/// flock(2) has no deadline and can't be cancelled, and its holders are people's commands: so it is tried.
constexpr std::chrono::milliseconds kBetweenTries{20};

using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

bool is_same_file(int fd, const std::filesystem::path& path) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

/// An empty descriptor: somebody else has it.
Result<UniqueFd> FileLock::try_lock(const std::filesystem::path& file) {
  for (;;) {
    UniqueFd opened{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (!opened) return std::unexpected{system_error(errno, "open \"" + file.string() + "\"")};
    if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return UniqueFd{};
      return std::unexpected{system_error(errno, "lock \"" + file.string() + "\"")};
    }
    // The last holder removes the file: a lock on what has no name any more excludes nobody.
    if (is_same_file(opened.get(), file)) return opened;
  }
}

Task<Result<FileLock>> FileLock::acquire(std::filesystem::path file, std::chrono::milliseconds limit,
                                         std::string what) {
  const auto until = std::chrono::steady_clock::now() + limit;
  Timer timer{co_await boost::asio::this_coro::executor};
  for (;;) {
    auto held = try_lock(file);
    if (!held) co_return std::unexpected{std::move(held.error())};
    if (*held) co_return FileLock{std::move(file), std::move(*held)};
    if (std::chrono::steady_clock::now() >= until) {
      co_return fail(Errc::timeout, "another skiff still works on " + what + ": wait for it, or end it");
    }
    timer.expires_after(kBetweenTries);
    co_await timer.async_wait(use_task);
  }
}

bool FileLock::is_held(const std::filesystem::path& file) {
  const UniqueFd opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  return opened && ::flock(opened.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

FileLock::~FileLock() {
  // While it is still held, so that nobody can have locked it under this name meanwhile.
  if (held_) ::unlink(file_.c_str());
}

}  // namespace skiff::container
