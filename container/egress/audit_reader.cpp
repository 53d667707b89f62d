#include "container/egress/audit_reader.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "container/egress/audit.hpp"

namespace skiff::container::egress {
namespace {

/// A line is much shorter.
constexpr std::size_t kPiece = std::size_t{64} << 10U;
constexpr std::uint32_t kChanges = IN_MODIFY | IN_CREATE | IN_MOVED_TO;
/// Events of the directory above.
constexpr std::uint32_t kEnds = IN_DELETE | IN_MOVED_FROM;

bool is_same(const UniqueFd& one, const UniqueFd& other) {
  struct stat a{};
  struct stat b{};
  return one && other && ::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

void drop_events(int source) {
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (::read(source, buffer.data(), buffer.size()) > 0) continue;
}

/// True if the directory has been removed, moved, or replaced by another one of its name.
bool has_gone(const std::filesystem::path& directory, const UniqueFd& opened) {
  const UniqueFd now{::open(directory.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  return !is_same(now, opened);
}

/// Watches the directory, and the one above it. An open file keeps a removed directory from being reported as such by a
/// watch of its own.
Result<UniqueFd> watch_changes(const std::filesystem::path& directory) {
  UniqueFd watch{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!watch || ::inotify_add_watch(watch.get(), directory.c_str(), kChanges | IN_ONLYDIR) < 0 ||
      ::inotify_add_watch(watch.get(), directory.parent_path().c_str(), kEnds | IN_ONLYDIR) < 0) {
    return std::unexpected{system_error(errno, "watch \"" + directory.string() + "\"")};
  }
  return watch;
}

}  // namespace

Result<UniqueFd> AuditReader::open(const std::string& name) const {
  UniqueFd file{::openat(directory_->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file && errno != ENOENT) return std::unexpected{system_error(errno, "open \"" + name + "\"")};
  return file;
}

Result<std::string> AuditReader::read_lines() {
  std::string block(kPiece, '\0');
  const ssize_t got = ::pread(file_.get(), block.data(), block.size(), static_cast<off_t>(offset_));
  if (got < 0) return std::unexpected{system_error(errno, "read \"" + name_ + "\"")};
  block.resize(static_cast<std::size_t>(got));
  // A line without its end is still being written.
  const std::size_t end = block.rfind('\n');
  block.resize(end == std::string::npos ? (block.size() == kPiece ? kPiece : 0) : end + 1);
  offset_ += block.size();
  return block;
}

Result<bool> AuditReader::open_next() {
  SKIFF_TRY(auto newer, open(name_));
  if (is_same(newer, file_)) return false;
  // The order matters: if the older file is still ours now, nothing was between ours and `newer`.
  SKIFF_TRY(auto older, open(name_ + ".1"));
  const bool has_between = older && !is_same(older, file_) && !is_same(older, before_);
  next_ = has_between ? std::move(older) : std::move(newer);
  misses_lines_ = has_between && file_;
  return static_cast<bool>(next_);
}

Result<std::string> AuditReader::read() {
  for (;;) {
    // It is looked for before this file has been read to its end: the directory may be removed by then.
    bool has_next = static_cast<bool>(next_);
    if (!has_next) {
      SKIFF_TRY(has_next, open_next());
    }
    if (file_) {
      SKIFF_TRY(auto lines, read_lines());
      if (!lines.empty()) return lines;
    }
    if (!has_next) return std::string{};
    before_ = std::exchange(file_, std::exchange(next_, {}));
    offset_ = 0;
    if (!std::exchange(misses_lines_, false)) continue;
    return audit_line(
        {}, {.verdict = "missing",
             .detail = "lines may be missing here: " + name_ + " has changed its files faster than they were read"});
  }
}

Task<Result<>> follow_audit(std::filesystem::path directory, std::function<Result<>(std::string_view lines)> take) {
  const UniqueFd place{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!place) co_return std::unexpected{system_error(errno, "open \"" + directory.string() + "\"")};
  SKIFF_CO_TRY(auto watch, watch_changes(directory));
  const Executor executor = co_await boost::asio::this_coro::executor;
  boost::asio::posix::basic_stream_descriptor<Executor> source{executor, watch.release()};
  std::array readers{AuditReader{place, FileAudit::kAllowedFile}, AuditReader{place, FileAudit::kDeniedFile}};
  for (;;) {
    // Looked at first: what was written before the end is still read.
    const bool is_over = has_gone(directory, place);
    std::string lines;
    for (AuditReader& reader : readers) {
      SKIFF_CO_TRY(const auto more, reader.read());
      lines += more;
    }
    if (!lines.empty()) {
      SKIFF_CO_TRY_VOID(take(lines));
      // A log that is flooded must not keep signals waiting.
      co_await boost::asio::post(executor, use_task);
      continue;
    }
    if (is_over) co_return Result<>{};
    co_await source.async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
    drop_events(source.native_handle());
  }
}

}  // namespace skiff::container::egress
