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

/// Why a command is over. The words are stable.
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

/// What became of the state that a command of a stateful session left.
enum class StateSaved : unsigned char {
  saved,
  discarded,  ///< its shell did not come to its end, or the command may not save, or the state is too large
  conflict,   ///< another command of the session saved since this one started
};
[[nodiscard]] std::string_view name(StateSaved outcome) noexcept;

/// What a command used, from wait4(2)'s rusage of its leader (with the children it waited for) and, where the kernel
/// shows it, /proc/PID/io of the leader.
struct Usage {
  std::chrono::microseconds wall{};
  std::chrono::microseconds user{};
  std::chrono::microseconds system{};
  std::uint64_t max_rss_bytes = 0;
  std::optional<std::uint64_t> peak_bytes = {};  ///< of all its processes together, where it has a cgroup of its own
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::uint64_t read_blocks = 0;   ///< 512-byte blocks, ru_inblock
  std::uint64_t write_blocks = 0;  ///< 512-byte blocks, ru_oublock
};

/// Which step before the program's first instruction failed, and how.
struct SpawnFailure {
  std::string_view stage;  ///< a stable word: pipe, terminal, clone, session, limits, chdir, user, exec, ...
  int error = 0;           ///< errno
  std::string message;     ///< a sentence: `chdir "/nope": No such file or directory`
};

/// A shell's exit code of a program that a signal has ended, less the signal.
inline constexpr int kShellsSignal = 128;
/// A shell's exit code of a program that did not start: 127 when there is none, 126 when it can't be run.
[[nodiscard]] int shell_exit_code(const SpawnFailure& failure) noexcept;

/// The end of a command's leader: the `exit` record of its log.
struct ExitStatus {
  std::optional<int> exit_code;  ///< absent when a signal ended it
  std::optional<int> signal;     ///< a signal number
  bool core_dumped = false;
  Cause cause = Cause::exited;
  Usage usage;
  bool output_complete = false;   ///< every pipe was at its end when this was written
  std::vector<pid_t> background;  ///< processes that hold one of its pipes: its own, then others
  std::optional<SpawnFailure> failure;
  std::optional<StateSaved> state_saved;  ///< of a shell line in a stateful session
  std::string kill_level;                 ///< when its tree was ended: how that was verified ("tree"), else empty
  WallTime ended_at{};
};

}  // namespace skiff::sessions
