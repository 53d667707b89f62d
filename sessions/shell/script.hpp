#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/shell/snapshot.hpp"

namespace skiff::sessions {

/// The shell that runs one command of a stateful session (docs/stateful.md): it takes the session's state over, runs
/// the command in itself, prints its state and exits with the command's status.
struct ShellScript {
  static constexpr int kCommandFd = 7;   ///< a long command's text
  static constexpr int kSnapshotFd = 8;  ///< the state before
  static constexpr int kDumpFd = 9;      ///< the state after
  /// execve(2): one argument may be 128 KiB long; longer lines go by a file descriptor.
  static constexpr std::size_t kLongestArgument = std::size_t{120} << 10U;
  /// The variable that carries the script, so that ps(1) shows the command and not the script. The script removes it.
  static constexpr const char* kVariable = "__skiff_sh";

  std::string shell;  ///< absolute path
  bool login = false;
  std::string_view command;
  const ShellSnapshot* before = nullptr;  ///< null: none yet
  std::string cwd = {};                   ///< to change to first; empty: stay in the directory that it is started in
  std::string fallback_cwd = {};          ///< when that is gone
  bool tells_start = false;               ///< say where it started, so that a command's own cwd is known again
  bool dumps = true;
  bool functions = true;
  bool tells_reading = false;      ///< say that the state is about to be read, and that it was
  bool file_size_limited = false;  ///< the dump may be too large for RLIMIT_FSIZE: that must not end the shell

  /// One line, as `kVariable` holds it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<std::string> argv() const;
  [[nodiscard]] bool is_long() const noexcept { return command.size() > kLongestArgument; }
  /// A long command's text, for `kCommandFd`.
  [[nodiscard]] std::string command_file() const;

 private:
  [[nodiscard]] bool bash() const noexcept { return before != nullptr && before->dialect() == Dialect::bash; }
};

}  // namespace skiff::sessions
