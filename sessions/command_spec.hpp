#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "sessions/output/log.hpp"
#include "sessions/process/limits.hpp"
#include "sessions/spawn/environment.hpp"
#include "sessions/spawn/terminal.hpp"

namespace skiff::sessions {

/// Descriptors of a command beside its standard streams: a text that it reads, and two pipes.
struct Channels {
  static constexpr int kTextFd = 3;
  static constexpr int kInFd = 4;
  static constexpr int kOutFd = 5;

  std::string text;
  UniqueFd in;   ///< the end that the command reads
  UniqueFd out;  ///< the end that the command writes
};

/// A client's request to start a command.
struct CommandSpec {
  std::string id;                   ///< empty: the agent generates one
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
  bool saves_state =
      true;  ///< in a stateful session: the next command finds this one's shell state; false for background commands
  ResourceLimits limits;
  std::shared_ptr<Channels> channels;  ///< null: none; its descriptors go to the command. For `argv` alone
  std::string traceparent;             ///< W3C trace context for the command, empty: none

  /// SHA-256 over the fields that make two requests equal: line, argv, cwd, env, user, stdin, terminal, limits.
  [[nodiscard]] std::string fingerprint() const;
};

}  // namespace skiff::sessions
