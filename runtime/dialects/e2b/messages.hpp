#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/spawn/terminal.hpp"

/// The messages of process.Process and filesystem.Filesystem in protobuf's JSON form (protobuf.dev, "ProtoJSON"). A
/// field has its camelCase name or its own; null means absent; a 64-bit number may be a string; bytes are in base64.
/// Unknown fields are ignored. Errors of every `read_` function: malformed_json, missing_field, invalid_field. Their
/// messages never repeat a value.
namespace skiff::runtime::dialects::e2b {

struct ProcessSelector {
  std::optional<std::uint32_t> pid;
  std::string tag;  ///< used if there is no pid
};

struct StartMessage {
  std::vector<std::string> argv;
  std::map<std::string, std::string> envs;
  std::string cwd;  ///< empty: the user's default
  std::optional<sessions::TerminalSize> pty;
  std::string tag;  ///< empty: none
  bool stdin_open = true;
};
[[nodiscard]] Result<StartMessage> read_start(std::string_view text);

/// The number of bytes of each stream that a client has.
struct OutputOffsets {
  std::uint64_t out = 0;  ///< also what a terminal showed
  std::uint64_t err = 0;
};
struct ConnectMessage {
  ProcessSelector process;
  std::optional<OutputOffsets> resume_from;
};
/// Checks a message of List, which has no fields.
[[nodiscard]] Result<> read_list(std::string_view text);
[[nodiscard]] Result<ConnectMessage> read_connect(std::string_view text);

struct UpdateMessage {
  ProcessSelector process;
  std::optional<sessions::TerminalSize> pty;
};
[[nodiscard]] Result<UpdateMessage> read_update(std::string_view text);

struct ProcessInput {
  bool is_pty = false;
  std::string bytes;
};
struct SendInputMessage {
  ProcessSelector process;
  ProcessInput input;
};
[[nodiscard]] Result<SendInputMessage> read_send_input(std::string_view text);

/// A message of StreamInput: the process, or what to write, or neither (a keepalive).
struct StreamInputMessage {
  std::optional<ProcessSelector> start;
  std::optional<ProcessInput> data;
};
[[nodiscard]] Result<StreamInputMessage> read_stream_input(std::string_view text);

struct SendSignalMessage {
  ProcessSelector process;
  int signal = 0;
};
/// Reads SIGTERM or SIGKILL. Errors: also not_supported for another signal.
[[nodiscard]] Result<SendSignalMessage> read_send_signal(std::string_view text);

[[nodiscard]] Result<ProcessSelector> read_close_stdin(std::string_view text);

struct PathMessage {
  std::string path;
  std::uint32_t depth = 1;  ///< for a list
  bool recursive = false;   ///< for a watch, like the next
  bool include_entry = false;
};
[[nodiscard]] Result<PathMessage> read_path(std::string_view text);

struct MoveMessage {
  std::string source;
  std::string destination;
};
[[nodiscard]] Result<MoveMessage> read_move(std::string_view text);

[[nodiscard]] Result<std::string> read_watcher_id(std::string_view text);

struct InitMessage {
  std::optional<std::map<std::string, std::string>> env_vars;
  std::optional<std::string> access_token;
  std::optional<std::string> default_user;
  std::optional<std::string> default_workdir;
};
/// Errors: also not_supported for a field that needs a virtual machine.
[[nodiscard]] Result<InitMessage> read_init(std::string_view text);

// The events of a process. Each function returns a whole message.

/// `offsets` are those of the first bytes that follow.
[[nodiscard]] std::string start_event(std::int64_t pid, const std::optional<OutputOffsets>& offsets);
/// `stream` is stdout, stderr or pty; `offset` is that of the first byte in the stream.
[[nodiscard]] std::string data_event(std::string_view stream, std::string_view bytes,
                                     std::optional<std::uint64_t> offset);
/// The status is "exit status 3", or "signal: killed" with the code -1, as Go's os.ProcessState prints it.
[[nodiscard]] std::string end_event(const sessions::ExitStatus& status);
inline constexpr std::string_view kKeepaliveEvent = R"({"event":{"keepalive":{}}})";

}  // namespace skiff::runtime::dialects::e2b
