#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/async/task.hpp"
#include "runtime/api/call.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// The format of a log that a client accepts, from its Accept header.
enum class StreamForm : std::uint8_t { ndjson, sse, octets };
/// Errors: not_acceptable.
[[nodiscard]] Result<StreamForm> stream_form(std::string_view accept, StreamForm otherwise);

struct LogStream {
  StreamForm form = StreamForm::ndjson;
  std::uint64_t from = 0;
  std::optional<sessions::Stream> only;
  bool lossless = false;
  bool announce = false;   ///< begin with a `started` event
  bool follow = true;      ///< send until the command's exit; else stop at the log's current end
  bool until_end = false;  ///< send until every pipe is at its end
  bool kill_on_disconnect = false;
  std::optional<std::uint64_t> limit_bytes;
};

/// Sends a command's log as the response to a call, in blocks of all that is available, with a keep-alive after a long
/// pause. For octets the exit is in trailers: X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes.
[[nodiscard]] Task<Result<>> stream_log(Call& call, std::shared_ptr<sessions::Command> command, LogStream options);

/// The result of a wait. `ended`: the command has ended. `begun`: the response was begun with white space, and the
/// caller must finish its body.
struct WaitOutcome {
  bool ended = false;
  bool begun = false;
};
[[nodiscard]] Task<Result<WaitOutcome>> wait_for_exit(Agent* agent, protocol::HttpExchange* http,
                                                      std::shared_ptr<sessions::Command> command,
                                                      std::optional<std::chrono::milliseconds> limit);
[[nodiscard]] inline Task<Result<WaitOutcome>> wait_for_exit(Call& call, std::shared_ptr<sessions::Command> command,
                                                             std::optional<std::chrono::milliseconds> limit) {
  return wait_for_exit(&call.agent, &call.http, std::move(command), limit);
}

/// Answers with JSON, also if `wait_for_exit` has begun the response.
[[nodiscard]] Task<Result<>> answer_json(Call& call, bool begun, unsigned status, std::string text);

}  // namespace skiff::runtime::api
