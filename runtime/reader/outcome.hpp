#pragma once

#include <cstdint>

#include "sessions/command.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::runtime {

/// Why a command could not be started, in the classes that protocols tell apart.
enum class StartFault : std::uint8_t {
  absent,     ///< there is nothing at the path of the program or of its directory
  forbidden,  ///< it may not be run, or not there
  too_large,  ///< its arguments and its environment are too large
  exhausted,  ///< there are not enough processes, memory or descriptors: it may work later
  other,
};
[[nodiscard]] StartFault start_fault(const sessions::SpawnFailure& failure) noexcept;

/// Null: the command was started, or that is not known yet.
[[nodiscard]] const sessions::SpawnFailure* start_failure(const sessions::Command& command) noexcept;

// A command's exit in one number. A shell's number is ExitStatus::exit_code itself, where the command was not ended by
// a signal.

/// As Python's subprocess has it: a signal is its number below zero.
[[nodiscard]] int python_exit_code(const sessions::ExitStatus& status) noexcept;
/// As Go's os.ProcessState has it: a signal is -1.
[[nodiscard]] int go_exit_code(const sessions::ExitStatus& status) noexcept;

}  // namespace skiff::runtime
