#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sessions/output/log.hpp"
#include "sessions/process/terminal.hpp"

namespace skiff::sessions {

using EnvironmentChange = std::map<std::string, std::optional<std::string>>;  ///< absent value: remove the variable
using SecretEnvironment = std::map<std::string, std::string>;                 ///< never listed, logged or echoed

/// Bounds for what one command may use. What the kernel or the container can't enforce is refused, never dropped.
struct ResourceLimits {
  std::optional<std::uint64_t> memory_bytes = {};     ///< needs a writable cgroup v2
  std::optional<std::uint64_t> pids = {};             ///< needs a writable cgroup v2
  std::optional<std::uint64_t> cpu_millis = {};       ///< needs a writable cgroup v2
  std::optional<std::uint64_t> cpu_time_ms = {};      ///< RLIMIT_CPU, whole seconds upwards, of each process
  std::optional<std::uint64_t> open_files = {};       ///< RLIMIT_NOFILE
  std::optional<std::uint64_t> file_size_bytes = {};  ///< RLIMIT_FSIZE
  [[nodiscard]] bool operator==(const ResourceLimits&) const = default;
};

/// Those that setrlimit(2) enforces; `open_files` is the soft limit of a command that names none.
[[nodiscard]] std::vector<std::pair<int, rlimit>> kernel_limits(const ResourceLimits& limits, rlim_t open_files);

/// What a client asks for when it starts a command.
struct CommandSpec {
  std::string id;                   ///< empty: the agent makes one
  std::optional<std::string> line;  ///< a shell line; exactly one of `line` and `argv`
  std::vector<std::string> argv;
  std::optional<std::string> cwd;  ///< relative to the session's
  EnvironmentChange env;
  SecretEnvironment secret_env;
  std::optional<std::string> user;
  std::string input;        ///< written to stdin at the start
  bool input_open = false;  ///< keep stdin open for later writes
  std::optional<TerminalSize> terminal;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> idle_timeout;
  std::optional<std::chrono::milliseconds> kill_grace;
  std::optional<std::size_t> keep_bytes;
  Overflow overflow = Overflow::automatic;
  bool merge_stderr = false;
  bool checksum = false;
  bool saves_state = true;  ///< in a stateful session; false for what runs in the background
  ResourceLimits limits;
  std::string traceparent;  ///< W3C trace context for the command, empty: none

  /// SHA-256 over what makes two requests "the same command": line, argv, cwd, env, user, stdin, terminal, limits.
  [[nodiscard]] std::string fingerprint() const;
};

}  // namespace skiff::sessions
