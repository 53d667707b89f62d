#pragma once

#include <cstdint>

#include "fs/watch/log.hpp"
#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// GET .../files:watch: sends changes below a directory, as server-sent events or over a WebSocket, until the client
/// disconnects or the directory is removed.
[[nodiscard]] Task<Result<>> watch_files(Call& call);

/// The event of a change.
[[nodiscard]] const Answer<fs::WatchEvent>& change_answer();
/// The first event, which tells the client that later changes are reported.
[[nodiscard]] const Answer<std::uint64_t>& watching_answer();

}  // namespace skiff::runtime::api
