#include "sessions/process/exit_status.hpp"

#include <cerrno>

namespace skiff::sessions {

std::string_view name(Cause cause) noexcept {
  switch (cause) {
    case Cause::exited:
      return "exited";
    case Cause::signaled:
      return "signaled";
    case Cause::timeout:
      return "timeout";
    case Cause::idle_timeout:
      return "idle_timeout";
    case Cause::output_limit:
      return "output_limit";
    case Cause::oom:
      return "oom";
    case Cause::oom_guard:
      return "oom_guard";
    case Cause::killed_by_client:
      return "killed_by_client";
    case Cause::session_deleted:
      return "session_deleted";
    case Cause::shutdown:
      return "shutdown";
    case Cause::spawn_failed:
      return "spawn_failed";
  }
  return "exited";
}

std::string_view name(StateSaved outcome) noexcept {
  switch (outcome) {
    case StateSaved::saved:
      return "saved";
    case StateSaved::discarded:
      return "discarded";
    case StateSaved::conflict:
      return "conflict";
  }
  return "discarded";
}

int shell_exit_code(const SpawnFailure& failure) noexcept {
  return failure.error == ENOENT || failure.error == ENOTDIR ? 127 : 126;
}

}  // namespace skiff::sessions
