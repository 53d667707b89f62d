#include "sessions/output/spool.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT: mkostemp is not in <cstdlib>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/log/log.hpp"

namespace skiff::sessions {
namespace {

/// Repeats preadv(2) or pwritev(2) until both spans are done; returns an errno, or 0.
template <class Call>
int transfer(Call call, std::span<char> first, std::span<char> second, std::uint64_t at) {
  while (!first.empty() || !second.empty()) {
    const std::array parts{iovec{first.data(), first.size()}, iovec{second.data(), second.size()}};
    const ssize_t count = call(parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;  // the file ends before the bytes that were written to it
    auto done = static_cast<std::size_t>(count);
    at += done;
    const std::size_t of_first = std::min(done, first.size());
    first = first.subspan(of_first);
    second = second.subspan(done - of_first);
  }
  return 0;
}

/// Removes const, as iovec requires for writing, too.
std::span<char> writable(std::span<const char> bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

}  // namespace

SpoolFile::SpoolFile(std::shared_ptr<Spool> spool) noexcept : spool_{std::move(spool)} {}

SpoolFile::~SpoolFile() {
  spool_->used_ -= used_;
  // Close it on a disk thread: freeing the blocks of a big file takes long.
  if (fd_) spool_->disk_.post([fd = std::move(fd_)]() mutable { fd.reset(); });
}

Result<> SpoolFile::open() {
  const std::lock_guard lock{opening_};
  if (fd_) return {};
  const std::string& directory = spool_->directory_.native();
  UniqueFd file{::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  // Overlay and network file systems may lack O_TMPFILE; kernels report that with any of these.
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
    std::string name = directory + "/output.XXXXXX";
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
  }
  if (!file) return std::unexpected{system_error(errno, "make a spool file in \"" + directory + "\"")};
  fd_ = std::move(file);
  return {};
}

Result<> SpoolFile::write(std::uint64_t at, std::span<const char> first, std::span<const char> second) {
  SKIFF_TRY_VOID(open());
  const auto call = [this](const iovec* parts, int count, off_t place) {
    return ::pwritev(fd_.get(), parts, count, place);
  };
  if (const int error = transfer(call, writable(first), writable(second), at); error != 0) {
    // Bytes of a failed write are not counted in the quota, so free their blocks.
    (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                      static_cast<off_t>(first.size() + second.size()));
    return std::unexpected{system_error(error, "write to a spool file")};
  }
  return {};
}

Result<> SpoolFile::read(std::uint64_t at, std::span<char> first, std::span<char> second) const {
  const auto call = [this](const iovec* parts, int count, off_t place) {
    return ::preadv(fd_.get(), parts, count, place);
  };
  if (const int error = transfer(call, first, second, at); error != 0) {
    return std::unexpected{system_error(error, "read from a spool file")};
  }
  return {};
}

Spool::Spool(Executor executor, BlockingPool& disk, std::filesystem::path directory, std::uint64_t quota)
    : disk_{disk}, directory_{std::move(directory)}, quota_{quota}, writes_{executor} {}

std::optional<std::uint64_t> Spool::write(Job job, std::move_only_function<void(bool)> done) {
  const std::size_t size = job.bytes.size() + job.index.size();
  if (size > quota_ - used_) return std::nullopt;
  SpoolFile& file = *job.file;
  const std::uint64_t at = file.end_;
  file.end_ += size;
  file.used_ += size;
  used_ += size;
  in_flight_ += size;
  writes_.spawn("spool write", run(shared_from_this(), std::move(job), at, std::move(done)));
  return at;
}

Task<> Spool::run(std::shared_ptr<Spool> self, Job job, std::uint64_t at, std::move_only_function<void(bool)> done) {
  auto work = [&job, at] { return job.file->write(at, job.bytes, job.index); };
  const Result<> written = co_await self->disk_.run(std::move(work));
  const std::size_t size = job.bytes.size() + job.index.size();
  self->in_flight_ -= size;
  if (!written) {
    job.file->used_ -= size;
    self->used_ -= size;
    if (!std::exchange(job.file->warned_, true)) {
      log::warning("output was dropped: it does not fit in memory and can't be written",
                   {{"error", written.error().message}});
    }
  }
  done(written.has_value());
}

}  // namespace skiff::sessions
