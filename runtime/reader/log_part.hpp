#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "base/async/task.hpp"
#include "sessions/output/log.hpp"

namespace skiff::runtime {

/// Calls `take` with each item of the log from `from` to the log's current end, with at most `limit` bytes of output.
/// It waits only for the disk. Returns the offset after the last item.
[[nodiscard]] Task<std::uint64_t> read_part(std::shared_ptr<sessions::OutputLog> log, std::uint64_t from,
                                            std::function<void(sessions::LogItem)> take,
                                            std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

}  // namespace skiff::runtime
