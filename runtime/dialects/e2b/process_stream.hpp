#pragma once

#include <memory>
#include <optional>

#include "runtime/dialects/e2b/messages.hpp"
#include "runtime/dialects/e2b/rpc.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::dialects::e2b {

/// Sends a process's events: its start, its output from the first byte that is kept, or from `resume_from` on, and its
/// end. It sends keepalives while the process is silent. The process goes on whatever happens to the stream. With
/// `lossless` a process that writes faster than the client reads waits, as long as the client takes anything; without
/// it the stream reports a gap. Errors: timeout when the call's time is over, or the process was ended by its time
/// limit; range_not_satisfiable when the bytes after `resume_from` are no longer kept; io_error when a lossless stream
/// has lost bytes; cancelled when the client is gone.
[[nodiscard]] Task<Result<>> stream_process(StreamCall* call, std::shared_ptr<sessions::Command> command, bool lossless,
                                            std::optional<OutputOffsets> resume_from = {});

}  // namespace skiff::runtime::dialects::e2b
