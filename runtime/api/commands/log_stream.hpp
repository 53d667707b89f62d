#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/async/task.hpp"
#include "runtime/api/call.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// What a client takes a log as, from its Accept header.
enum class StreamForm : std::uint8_t { ndjson, sse, octets };
/// Errors: not_acceptable.
[[nodiscard]] Result<StreamForm> stream_form(std::string_view accept, StreamForm otherwise);

struct LogStream {
  StreamForm form = StreamForm::ndjson;
  std::uint64_t from = 0;
  std::optional<sessions::Stream> only;
  bool lossless = false;
  bool announce = false;   ///< begin with a `started` event
  bool follow = true;      ///< go on until the command's exit; else stop at what there is now
  bool until_end = false;  ///< go on until every pipe is at its end
  bool kill_on_disconnect = false;
  std::optional<std::uint64_t> limit_bytes;
};

/// Sends a command's log as the response to a call, by blocks as large as there is something to send, with a keepalive
/// when there is nothing for long. Octets carry the exit in trailers: X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes.
[[nodiscard]] Task<Result<>> stream_log(Call& call, std::shared_ptr<sessions::Command> command, LogStream options);

/// Waits for the command's exit, up to `limit` if given, keeping the connection alive with white space; true when it
/// has ended. When the response had to be begun for that, `begun` is set and the body is to be finished by the caller.
/// Errors: cancelled when the client is gone.
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

/// Answers with JSON, going on where `wait_for_exit` had to begin.
[[nodiscard]] Task<Result<>> answer_json(Call& call, bool begun, unsigned status, std::string text);

}  // namespace skiff::runtime::api
