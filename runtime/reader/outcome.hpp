#pragma once

#include <cstdint>

#include "sessions/command.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::runtime {

/// The reason why a command could not start, in the classes that protocols distinguish.
enum class StartFault : std::uint8_t {
  absent,     ///< the program or its working directory does not exist
  forbidden,  ///< the program may not be run, or its directory not be used
  too_large,  ///< the arguments and the environment are too large
  exhausted,  ///< processes, memory or descriptors ran out; it may work later
  other,
};
[[nodiscard]] StartFault start_fault(const sessions::SpawnFailure& failure) noexcept;

/// The failure of a command's start; null if the command has started, or is still starting.
[[nodiscard]] const sessions::SpawnFailure* start_failure(const sessions::Command& command) noexcept;

// The functions below return a command's exit as one number. If no signal ended the command, a shell's number is
// ExitStatus::exit_code itself.

/// The exit as in Python's subprocess: a signal N is -N.
[[nodiscard]] int python_exit_code(const sessions::ExitStatus& status) noexcept;
/// The exit as in Go's os.ProcessState: any signal is -1.
[[nodiscard]] int go_exit_code(const sessions::ExitStatus& status) noexcept;

}  // namespace skiff::runtime
