#include "container/cli/output/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace skiff::container {

// The lowest free number is that of the closed descriptor, because all below it are open by then. Children inherit
// them.
void hold_standard_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    if (fd == STDERR_FILENO && ::open("/dev/null", O_WRONLY | O_NOCTTY) >= 0) continue;  // NOLINT: inherited
    // A pipe needs no /dev. Its reading end is at its end of file and cannot be written.
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) == 0) ::close(ends[1]);  // NOLINT: inherited
  }
}

}  // namespace skiff::container
