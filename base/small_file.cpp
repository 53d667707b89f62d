#include "base/small_file.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/unique_fd.hpp"

namespace skiff {

namespace {

/// Holds most small files, so that memory for the largest one is taken only when a file needs it.
constexpr std::size_t kFirstRoom = std::size_t{8} << 10U;

/// A buffer that grows. A string that grows by itself would leave copies behind that are never wiped.
class Text {
 public:
  explicit Text(std::size_t room) { make(room); }
  ~Text() { wipe(text_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<char> rest() { return std::span{text_}.subspan(size_); }
  void add(std::size_t read) noexcept { size_ += read; }
  void grow(std::size_t room) {
    std::string before = std::exchange(text_, {});
    make(room);
    std::copy_n(before.begin(), size_, text_.begin());
    wipe(before);
  }
  std::string take() {
    text_.resize(size_);
    return std::exchange(text_, {});
  }

 private:
  void make(std::size_t room) {
    text_.resize_and_overwrite(room, [](char*, std::size_t size) { return size; });
  }

  std::string text_;
  std::size_t size_ = 0;
};

}  // namespace

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
  if (!file) return std::unexpected{system_error(errno, "open \"" + path + "\"")};
  // One byte more than `most` shows that the file is too large.
  Text text{std::min(most + 1, kFirstRoom)};
  while (text.size() <= most) {
    if (text.rest().empty()) text.grow(std::min(most + 1, text.size() * 4));
    const std::span<char> into = text.rest();
    const ssize_t got = ::read(file.get(), into.data(), into.size());
    if (got == 0) return text.take();
    if (got > 0) {
      text.add(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return std::unexpected{system_error(errno, "read \"" + path + "\"")};
    }
  }
  return fail(Errc::invalid_field, "\"" + path + "\" is larger than " + std::to_string(most) + " bytes");
}

void wipe(std::string& text) noexcept {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace skiff
