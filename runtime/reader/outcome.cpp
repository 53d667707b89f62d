#include "runtime/reader/outcome.hpp"

#include <cerrno>

namespace skiff::runtime {

StartFault start_fault(const sessions::SpawnFailure& failure) noexcept {
  switch (failure.error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return StartFault::absent;
    case EACCES:
    case EPERM:
      return StartFault::forbidden;
    case E2BIG:
      return StartFault::too_large;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
      return StartFault::exhausted;
    default:
      return StartFault::other;
  }
}

const sessions::SpawnFailure* start_failure(const sessions::Command& command) noexcept {
  const auto& status = command.exit_status();
  return status && status->failure ? &*status->failure : nullptr;
}

int python_exit_code(const sessions::ExitStatus& status) noexcept {
  return status.signal ? -*status.signal : status.exit_code.value_or(1);
}

int go_exit_code(const sessions::ExitStatus& status) noexcept {
  return status.exit_code.value_or(-1);
}

}  // namespace skiff::runtime
