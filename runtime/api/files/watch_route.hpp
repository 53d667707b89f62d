#pragma once

#include <cstdint>

#include "fs/watch/log.hpp"
#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// GET .../files:watch: changes below a directory as server-sent events, until the client goes or the directory does.
[[nodiscard]] Task<Result<>> watch_files(Call& call);

/// A change as the route tells it.
[[nodiscard]] const Answer<fs::WatchEvent>& change_answer();
/// The first event: what happens from here on is seen, so that a client that has it can begin.
[[nodiscard]] const Answer<std::uint64_t>& watching_answer();

}  // namespace skiff::runtime::api
