#include "fs/path/sparse_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace skiff::fs {
namespace {

constexpr std::uint64_t kSparsePage = 4096;

bool is_zero(std::string_view bytes) {
  return bytes.front() == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// The part of `bytes`, which belong at `at`, that lies in one page.
std::string_view first_page(std::uint64_t at, std::string_view bytes) {
  return bytes.substr(0, kSparsePage - at % kSparsePage);
}

int write_at(int fd, std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    at += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int SparseFile::write(std::uint64_t at, std::string_view bytes) const {
  std::size_t data = 0;  // how much of `bytes` is to be written before the next hole
  while (data < bytes.size()) {
    const std::string_view page = first_page(at + data, bytes.substr(data));
    if (!is_zero(page)) {
      data += page.size();
      continue;
    }
    if (const int error = write_at(fd_, at, bytes.substr(0, data)); error != 0) return error;
    at += data + page.size();
    bytes.remove_prefix(data + page.size());
    data = 0;
  }
  return write_at(fd_, at, bytes);
}

int SparseFile::finish(std::uint64_t size) const {
  return ::ftruncate(fd_, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

}  // namespace skiff::fs
