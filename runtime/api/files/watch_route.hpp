#pragma once

#include <string>

#include "fs/watch/log.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// GET .../files:watch: changes below a directory as server-sent events, until the client goes or the directory does.
[[nodiscard]] Task<Result<>> watch_files(Call& call);

/// An event as its route sends it.
void append_watch_event(std::string& out, const fs::WatchEvent& event);

}  // namespace skiff::runtime::api
