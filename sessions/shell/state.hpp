#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/shell/snapshot.hpp"

namespace skiff::sessions {

/// The state that a stateful session keeps between commands: the last snapshot and its generation. Reactor thread only.
struct ShellState {
  std::shared_ptr<const ShellSnapshot> snapshot;  ///< null: no snapshot yet
  std::uint64_t generation = 0;

  /// Forgets the snapshot: the next shell starts like the first one.
  void forget() noexcept {
    snapshot.reset();
    ++generation;
  }
};

/// The use of the shell state by one command, from its start until its shell has ended. Reactor thread only.
class ShellRun {
 public:
  /// Bytes of the largest dump; the kernel refuses larger ones, and the state is then discarded.
  static constexpr std::size_t kLargestDump = std::size_t{4} << 20U;

  /// `own` names the variables that are not part of the shell state. `cwd` is the session's directory; it is kept if
  /// the command has its own cwd and ends there. `saves` is false for a command that may not save.
  ShellRun(std::shared_ptr<ShellState> state, Names own, std::string cwd, bool saves);

  /// Creates the memfd for the shell's dump; empty when this run does not save. Errors: those of memfd_create(2),
  /// ftruncate(2) and fcntl(2).
  [[nodiscard]] Result<UniqueFd> open_dump();
  /// Saves the dump as the new snapshot, once the shell has ended. `exited` is false if a signal ended it. A large dump
  /// is parsed on `pool`. If the shell ended while it read the previous snapshot, that is forgotten: it would end every
  /// later shell.
  [[nodiscard]] Task<StateSaved> conclude(bool exited, BlockingPool& pool);

 private:
  std::shared_ptr<ShellState> state_;
  std::shared_ptr<const ShellSnapshot> before_;
  std::uint64_t generation_;
  Names own_;
  std::string cwd_;
  bool saves_;
  UniqueFd dump_;
};

}  // namespace skiff::sessions
