#include "runtime/last_word.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/log/log.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

constexpr std::array<const char*, 4> kCauses{"lease", "workload", "signal", "failure"};

/// True for a regular file with a single name: no hard link to another user's file, and no pipe that waits for a
/// reader.
bool is_its_own(int fd) {
  struct stat found{};
  return ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1;
}

}  // namespace

const char* word_of(EndCause cause) noexcept {
  return kCauses.at(static_cast<std::size_t>(cause));
}

void write_last_word(const std::string& file, EndCause cause, std::string_view why) noexcept {
  if (file.empty()) return;
  try {
    const UniqueFd fd{::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!fd || !is_its_own(fd.get())) return;
    const nlohmann::json word{{"ended_by", word_of(cause)}, {"why", why}};
    const std::string text = word.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    // Remove a text that a command may have left. A text that is only half written is removed, too.
    if (::ftruncate(fd.get(), 0) != 0) return;
    if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      (void)!::ftruncate(fd.get(), 0);
    }
  } catch (const std::exception& error) {
    log::warning("cannot write the termination log", {{"error", error.what()}});
  }
}

}  // namespace skiff::runtime
