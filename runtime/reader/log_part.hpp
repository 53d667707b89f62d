#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "base/async/task.hpp"
#include "sessions/output/log.hpp"

namespace skiff::runtime {

/// Gives `take` each item of the log, from `from` on to where the log is now, at most `limit` bytes of output. It waits
/// for the disk and for nothing else. The value is the offset at which the log goes on.
[[nodiscard]] Task<std::uint64_t> read_part(std::shared_ptr<sessions::OutputLog> log, std::uint64_t from,
                                            std::function<void(sessions::LogItem)> take,
                                            std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

}  // namespace skiff::runtime
