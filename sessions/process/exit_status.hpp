#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Why a command ended. The names are stable.
enum class Cause : unsigned char {
  exited,
  signaled,
  timeout,
  idle_timeout,
  output_limit,
  oom,
  oom_guard,
  killed_by_client,
  session_deleted,
  shutdown,
  spawn_failed,
};
[[nodiscard]] std::string_view name(Cause cause) noexcept;

/// Whether the shell state of a command in a stateful session was saved.
enum class StateSaved : unsigned char {
  saved,
  discarded,  ///< the shell did not finish, the command may not save, or the state is too large
  conflict,   ///< another command of the session has saved since this one started
};
[[nodiscard]] std::string_view name(StateSaved outcome) noexcept;

/// The resources that a command used, from wait4(2)'s rusage of its leader, which includes the children that it waited
/// for.
struct Usage {
  std::chrono::microseconds wall{};
  std::chrono::microseconds user{};
  std::chrono::microseconds system{};
  std::uint64_t max_rss_bytes = 0;
  std::optional<std::uint64_t> peak_bytes = {};  ///< of all its processes together, if the command has a cgroup
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::uint64_t read_blocks = 0;   ///< 512-byte blocks, ru_inblock
  std::uint64_t write_blocks = 0;  ///< 512-byte blocks, ru_oublock
};

/// The step before the program's first instruction that failed, and its error.
struct SpawnFailure {
  std::string_view stage;  ///< a stable word: pipe, terminal, clone, session, limits, chdir, user, exec, ...
  int error = 0;           ///< errno
  std::string message;     ///< a sentence: `chdir "/nope": No such file or directory`
};

/// A shell reports a program that a signal ended by exit code 128 + the signal.
inline constexpr int kShellsSignal = 128;
/// A shell's exit code for a program that did not start: 127 when it is missing, 126 when it cannot be run.
[[nodiscard]] int shell_exit_code(const SpawnFailure& failure) noexcept;

/// The end of a command's leader: the `exit` record of its log.
struct ExitStatus {
  std::optional<int> exit_code;  ///< absent when a signal ended the leader
  std::optional<int> signal;     ///< number of the signal that ended the leader
  bool core_dumped = false;
  Cause cause = Cause::exited;
  Usage usage;
  bool output_complete = false;   ///< every pipe was at its end when the exit was written
  std::vector<pid_t> background;  ///< processes that hold one of the pipes: the command's own, then others
  std::optional<SpawnFailure> failure;
  std::optional<StateSaved> state_saved;  ///< for a shell line in a stateful session
  std::string
      kill_level;  ///< after the tree was ended: "tree", "cgroup", or "incomplete" if processes are left; else empty
  WallTime ended_at{};
};

}  // namespace skiff::sessions
