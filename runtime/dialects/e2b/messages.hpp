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

/// The messages of process.Process and filesystem.Filesystem in protobuf's JSON form (protobuf.dev, "ProtoJSON"):
/// fields by their camelCase or their own names, null for absent, 64-bit numbers also as texts, bytes in base64. Fields
/// that are not known are passed over, as there. Errors of all `read_`: malformed_json, missing_field, invalid_field,
/// which never repeat a value.
namespace skiff::runtime::dialects::e2b {

struct ProcessSelector {
  std::optional<std::uint32_t> pid;
  std::string tag;  ///< without a pid
};

struct StartMessage {
  std::vector<std::string> argv;
  std::map<std::string, std::string> envs;
  std::string cwd;  ///< empty: the user's
  std::optional<sessions::TerminalSize> pty;
  std::string tag;  ///< empty: none
  bool stdin_open = true;
};
[[nodiscard]] Result<StartMessage> read_start(std::string_view text);

/// How many bytes of each stream a client has.
struct OutputOffsets {
  std::uint64_t out = 0;  ///< of a terminal: what it showed
  std::uint64_t err = 0;
};
struct ConnectMessage {
  ProcessSelector process;
  std::optional<OutputOffsets> resume_from;
};
/// Of List, which asks for nothing.
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

/// One of a stream: which process, what to write, or neither (a sign of life).
struct StreamInputMessage {
  std::optional<ProcessSelector> start;
  std::optional<ProcessInput> data;
};
[[nodiscard]] Result<StreamInputMessage> read_stream_input(std::string_view text);

struct SendSignalMessage {
  ProcessSelector process;
  int signal = 0;
};
/// SIGTERM and SIGKILL are all that there are. Errors: also not_supported for another one.
[[nodiscard]] Result<SendSignalMessage> read_send_signal(std::string_view text);

[[nodiscard]] Result<ProcessSelector> read_close_stdin(std::string_view text);

struct PathMessage {
  std::string path;
  std::uint32_t depth = 1;  ///< of a list
  bool recursive = false;   ///< of a watch, as what follows
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
/// Errors: also not_supported for what can only be done to a virtual machine.
[[nodiscard]] Result<InitMessage> read_init(std::string_view text);

// Events of a process, each as the whole message.

/// `offsets`: where what follows begins.
[[nodiscard]] std::string start_event(std::int64_t pid, const std::optional<OutputOffsets>& offsets);
/// `stream` is stdout, stderr or pty; `offset` of the first byte in it.
[[nodiscard]] std::string data_event(std::string_view stream, std::string_view bytes,
                                     std::optional<std::uint64_t> offset);
/// "exit status 3", or "signal: killed" with the code -1, as Go's os.ProcessState says it.
[[nodiscard]] std::string end_event(const sessions::ExitStatus& status);
inline constexpr std::string_view kKeepaliveEvent = R"({"event":{"keepalive":{}}})";

}  // namespace skiff::runtime::dialects::e2b
