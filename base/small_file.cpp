#include "base/small_file.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/unique_fd.hpp"

namespace skiff {
namespace {

/// Most files are shorter than this. Room for the longest ones would cost its pages for each of them.
constexpr std::size_t kFirstRoom = 4096;

/// Makes room for more bytes, at most `most`. A string that grows by itself leaves copies behind that are never wiped.
void enlarge(std::string& text, std::size_t most) {
  std::string larger(std::min(most, text.size() * 4), '\0');
  text.copy(larger.data(), text.size());
  wipe(text);
  text = std::move(larger);
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
  if (!file) return std::unexpected{system_error(errno, "open \"" + path + "\"")};
  std::string text(std::min(most + 1, kFirstRoom), '\0');
  std::size_t size = 0;
  while (size <= most) {
    if (size == text.size()) enlarge(text, most + 1);
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      const int error = errno;
      wipe(text);
      return std::unexpected{system_error(error, "read \"" + path + "\"")};
    }
  }
  if (size > most) {
    wipe(text);
    return fail(Errc::invalid_field, "\"" + path + "\" is larger than " + std::to_string(most) + " bytes");
  }
  text.resize(size);
  return text;
}

void wipe(std::string& text) noexcept {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace skiff
