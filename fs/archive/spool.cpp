#include "fs/archive/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "fs/path/sparse_file.hpp"
#include "fs/path/temporary_name.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kSpoolBlock = std::size_t{256} << 10U;

std::unexpected<Error> not_written(int error) {
  return std::unexpected{system_error(error, "write to a temporary file")};
}

}  // namespace

Result<Spool> Spool::open(int directory) {
  UniqueFd file{::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  // Overlay and network file systems may lack O_TMPFILE; kernels report it with any of these errors.
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
    const std::string name = temporary_name();
    file.reset(::openat(directory, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
    if (file) ::unlinkat(directory, name.c_str(), 0);
  }
  if (!file) return std::unexpected{system_error(errno, "make a temporary file for an archive")};
  return Spool{std::move(file)};
}

Result<> Spool::flush() {
  if (const int error = SparseFile{file_.get()}.write(size_, {waiting_.data(), waiting_.size()}); error != 0) {
    return not_written(error);
  }
  size_ += waiting_.size();
  waiting_.clear();
  return {};
}

Result<> Spool::append(std::string_view bytes) {
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  return waiting_.size() < kSpoolBlock ? Result<>{} : flush();
}

Result<> Spool::append_zeros(std::uint64_t count) {
  SKIFF_TRY_VOID(flush());
  size_ += count;
  return {};
}

Result<> Spool::finish() {
  SKIFF_TRY_VOID(flush());
  waiting_.shrink_to_fit();
  const int error = SparseFile{file_.get()}.finish(size_);
  return error == 0 ? Result<>{} : not_written(error);
}

Result<std::size_t> SpoolReader::read_at(std::span<char> into) {
  for (;;) {
    const ssize_t got = ::pread(spool_.file_.get(), into.data(), into.size(), static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read a temporary file")};
    at_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
}

Result<std::size_t> SpoolReader::read(std::span<char> into) {
  if (from_ == to_) {
    if (into.size() >= kSpoolBlock) return read_at(into);
    ahead_.resize(kSpoolBlock);
    from_ = 0;
    SKIFF_TRY(to_, read_at(ahead_));
  }
  const std::size_t count = std::min(into.size(), to_ - from_);
  std::memcpy(into.data(), ahead_.data() + from_, count);
  from_ += count;
  return count;
}

void SpoolReader::skip(std::uint64_t count) noexcept {
  const std::uint64_t held = std::min<std::uint64_t>(count, to_ - from_);
  from_ += static_cast<std::size_t>(held);
  at_ += count - held;
}

}  // namespace skiff::fs
