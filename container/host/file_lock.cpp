#include "container/host/file_lock.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"

namespace skiff::container {
namespace {

/// A blocking lock has no deadline and cannot be cancelled, so this class polls; the holders are commands of people.
constexpr std::chrono::milliseconds kBetweenTries{20};

/// The byte of a name: its FNV-1a hash, cut to the range of file offsets. Two names on the same byte would wait for
/// each other.
struct flock range_of(std::string_view name) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(hash >> 2U);
  range.l_len = 1;
  return range;
}

}  // namespace

/// Tries to take the lock; returns an empty descriptor if another holder has it.
Result<UniqueFd> FileLock::try_lock(const std::filesystem::path& file, std::string_view name) {
  UniqueFd opened{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!opened) return std::unexpected{system_error(errno, "open \"" + file.string() + "\"")};
  struct flock range = range_of(name);
  while (::fcntl(opened.get(), F_OFD_SETLK, &range) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EACCES) return UniqueFd{};
    return std::unexpected{system_error(errno, "lock \"" + file.string() + "\"")};
  }
  return opened;
}

Task<Result<FileLock>> FileLock::acquire(std::filesystem::path file, std::string name,
                                         std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  Timer timer{co_await boost::asio::this_coro::executor};
  for (;;) {
    SKIFF_CO_TRY(auto held, try_lock(file, name));
    if (held) co_return FileLock{std::move(held)};
    if (std::chrono::steady_clock::now() >= until) {
      co_return fail(Errc::timeout, "another skiff still works on \"" + name + "\": wait for it, or end it");
    }
    timer.expires_after(kBetweenTries);
    co_await timer.async_wait(use_task);
  }
}

bool FileLock::is_held(const std::filesystem::path& file, std::string_view name) {
  const UniqueFd opened{::open(file.c_str(), O_RDWR | O_CLOEXEC)};
  struct flock range = range_of(name);
  return opened && ::fcntl(opened.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace skiff::container
