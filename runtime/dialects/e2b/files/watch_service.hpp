#pragma once

#include <string>

#include "runtime/dialects/e2b/rpc.hpp"

/// The watches of filesystem.Filesystem, as a stream and by polling. An event has the path of its entry below the
/// directory. Its type is CREATE, WRITE or REMOVE; a rename is RENAME of the old name and CREATE of the new one.
namespace skiff::runtime::dialects::e2b {

/// Streams events until the directory is gone, which ends the stream, or the call's time is over. Errors: also io_error
/// when the kernel has dropped events.
[[nodiscard]] Task<Result<>> watch_dir(StreamCall* call);

/// Begins a watch that the client polls. Errors: also resource_exhausted.
[[nodiscard]] Task<Result<std::string>> create_watcher(Call* call, std::string message);
/// Returns the events since the last call. Errors: not_found; io_error, once, when events were dropped.
[[nodiscard]] Task<Result<std::string>> get_watcher_events(Call* call, std::string message);
[[nodiscard]] Task<Result<std::string>> remove_watcher(Call* call, std::string message);

}  // namespace skiff::runtime::dialects::e2b
