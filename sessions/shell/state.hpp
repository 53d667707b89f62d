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

/// What a stateful session keeps from command to command: the last snapshot, and how many there have been. Reactor
/// thread only.
struct ShellState {
  std::shared_ptr<const ShellSnapshot> snapshot;  ///< null: none yet
  std::uint64_t generation = 0;

  /// The next shell begins as the first one did.
  void forget() noexcept {
    snapshot.reset();
    ++generation;
  }
};

/// One command's part in it, from its start until its shell has ended. Reactor thread only.
class ShellRun {
 public:
  /// A state that takes more is discarded; the kernel refuses to let the dump grow beyond.
  static constexpr std::size_t kLargestDump = std::size_t{4} << 20U;

  /// `own`: the variables that were given to this command only. `cwd` is the session's, kept when the command was given
  /// one of its own and stays there. `saves`: false for a command that may not save.
  ShellRun(std::shared_ptr<ShellState> state, Names own, std::string cwd, bool saves);

  /// The memfd for the shell to write to; nothing when this run doesn't save. Errors: as memfd_create(2).
  [[nodiscard]] Result<UniqueFd> open_dump();
  /// Takes the dump over, once the shell is gone. `exited`: not by a signal. A large one is read on `pool`. A snapshot
  /// that the shell ended at, while it read it, is forgotten: it would end every later one.
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
