#include "base/small_file.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"

namespace skiff {

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
  if (!file) return std::unexpected{system_error(errno, "open \"" + path + "\"")};
  // Allocate once: a growing string would leave copies behind that are never wiped.
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
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
