#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sessions/spawn/terminal.hpp"

/// The messages of process.v1, in protobuf's wire format. Unknown fields are skipped, as protobuf does. Errors of all
/// functions that read: invalid_field, also for bytes that are not protobuf.
namespace skiff::runtime::dialects::sandboxd {

struct ProcessConfig {
  std::vector<std::string> command;
  std::map<std::string, std::string> env_vars;
  std::optional<std::string> cwd;
};

/// A StartRequest, or an ExecuteRequest, which has no terminal.
struct ProcessRequest {
  ProcessConfig config;
  std::optional<sessions::TerminalSize> pty;
};
/// Reads either of them. Errors: also missing_field, without a command.
[[nodiscard]] Result<ProcessRequest> read_process_request(std::string_view message);

struct WriteStdinRequest {
  std::int32_t process_id = 0;
  std::string input;
  bool eof = false;
};
[[nodiscard]] Result<WriteStdinRequest> read_write_stdin(std::string_view message);

struct SendSignalRequest {
  std::int32_t process_id = 0;
  std::int32_t signal = 0;
};
[[nodiscard]] Result<SendSignalRequest> read_send_signal(std::string_view message);

struct ResizeRequest {
  std::int32_t process_id = 0;
  std::uint32_t cols = 0;
  std::uint32_t rows = 0;
};
[[nodiscard]] Result<ResizeRequest> read_resize(std::string_view message);
/// A terminal's size. Errors: invalid_field for a side of 0 or of more than 65,535.
[[nodiscard]] Result<sessions::TerminalSize> terminal_size(std::uint32_t cols, std::uint32_t rows);
/// A terminal's size in which a side of 0 is not given: it is the usual one, or stays as it is. Errors: invalid_field.
[[nodiscard]] Result<sessions::TerminalSize> size_but_for_zeros(std::uint32_t cols, std::uint32_t rows);

/// These two compose whole StartResponse messages.
[[nodiscard]] std::string init_event(std::int32_t process_id);
[[nodiscard]] std::string exit_event(std::int32_t exit_code);

/// The field numbers of output in StartResponse and ExecuteResponse.
inline constexpr std::uint32_t kStdoutField = 2;
inline constexpr std::uint32_t kStderrField = 3;
/// Appends what precedes `size` bytes of output in such a message: the field's tag and the length.
void append_bytes_head(std::string& out, std::uint32_t field, std::size_t size);
/// The beginning of an ExecuteResponse; its outputs follow.
[[nodiscard]] std::string execute_head(std::int32_t exit_code);

}  // namespace skiff::runtime::dialects::sandboxd
