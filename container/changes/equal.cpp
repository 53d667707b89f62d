#include "container/changes/equal.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "fs/content/read.hpp"
#include "fs/path/path.hpp"
#include "fs/path/stop.hpp"

namespace skiff::container::changes {
namespace {

constexpr std::size_t kComparedBlock = std::size_t{256} << 10U;

/// The next byte of a file that is not in a hole; nullopt-like maximum behind its last one.
off_t next_data(int file, off_t at) {
  const off_t data = ::lseek(file, at, SEEK_DATA);
  if (data >= 0) return data;
  return errno == ENXIO ? std::numeric_limits<off_t>::max() : at;
}

/// Reads a block as a whole, or up to the end of the file.
Result<std::size_t> read_block(int file, off_t at, std::span<char> into) {
  std::size_t got = 0;
  while (got < into.size()) {
    SKIFF_TRY(auto more, fs::read_at(file, static_cast<std::uint64_t>(at) + got, into.subspan(got)));
    if (more == 0) break;
    got += more;
  }
  return got;
}

}  // namespace

Result<bool> has_same_bytes(int one, int other, const std::stop_token& stop) {
  const auto blocks = std::make_unique_for_overwrite<char[]>(2 * kComparedBlock);
  const std::span<char> first{blocks.get(), kComparedBlock};
  const std::span<char> second{blocks.get() + kComparedBlock, kComparedBlock};
  for (off_t at = 0;;) {
    if (stop.stop_requested()) return fs::stopped_error();
    at = std::min(next_data(one, at), next_data(other, at));
    if (at == std::numeric_limits<off_t>::max()) return true;
    SKIFF_TRY(auto size, read_block(one, at, first));
    SKIFF_TRY(auto other_size, read_block(other, at, second));
    if (std::string_view{first.data(), size} != std::string_view{second.data(), other_size}) return false;
    if (size == 0) return true;
    at += static_cast<off_t>(size);
  }
}

Result<std::string> target_of(int link) {
  std::array<char, fs::kMostPathBytes + 1> target;
  const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
  if (size < 0) return std::unexpected{system_error(errno, "read a link")};
  return std::string{target.data(), static_cast<std::size_t>(size)};
}

}  // namespace skiff::container::changes
