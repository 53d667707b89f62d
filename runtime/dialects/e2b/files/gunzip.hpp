#pragma once

#include "base/async/task.hpp"
#include "fs/content/write.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::dialects::e2b {

/// Decompresses a request's body, which is compressed with gzip, and writes the result. The caller commits it. Errors:
/// those of the body and of the writer; malformed_archive unless the body is valid gzip, resource_exhausted when too
/// many transfers run.
[[nodiscard]] Task<Result<>> store_gunzipped(Agent* agent, protocol::HttpExchange* http, fs::Writer* writer);

}  // namespace skiff::runtime::dialects::e2b
