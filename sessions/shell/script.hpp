#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/shell/snapshot.hpp"

namespace skiff::sessions {

/// The shell that runs one command of a stateful session (docs/stateful.md): it restores the session's state, runs the
/// command, prints its state, and exits with the command's status.
struct ShellScript {
  static constexpr int kCommandFd = 7;   ///< the text of a long command
  static constexpr int kSnapshotFd = 8;  ///< the state before
  static constexpr int kDumpFd = 9;      ///< the state after
  /// execve(2) allows 128 KiB for one argument; longer lines use a file descriptor.
  static constexpr std::size_t kLongestArgument = std::size_t{120} << 10U;
  /// The variable that carries the script, so that ps(1) shows the command and not the script. The script removes it.
  static constexpr const char* kVariable = "__skiff_sh";

  std::string shell;  ///< absolute path
  bool login = false;
  std::string_view command;
  const ShellSnapshot* before = nullptr;  ///< null: no snapshot yet
  std::string cwd = {};                   ///< directory to change to first; empty: stay
  std::string fallback_cwd = {};          ///< directory to use if `cwd` is gone
  bool tells_start = false;               ///< print the first directory, to recognise the command's own cwd
  bool dumps = true;
  bool functions = true;
  bool tells_reading = false;      ///< print before and after the state is read
  bool file_size_limited = false;  ///< a dump above RLIMIT_FSIZE must not end the shell

  /// The script, one line: the value of `kVariable`.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<std::string> argv() const;
  [[nodiscard]] bool is_long() const noexcept { return command.size() > kLongestArgument; }
  /// The text of a long command, for `kCommandFd`.
  [[nodiscard]] std::string command_file() const;

 private:
  [[nodiscard]] bool bash() const noexcept { return before != nullptr && before->dialect() == Dialect::bash; }
};

}  // namespace skiff::sessions
