#pragma once

#include <memory>
#include <string>

#include "base/task.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// The answer of a WAIT: what a command has said so far, head and tail where it is more than `max_bytes` a stream, and
/// how it ended if it has.
[[nodiscard]] Task<std::string> wait_result(std::shared_ptr<sessions::Command> command, std::size_t max_bytes);

}  // namespace skiff::runtime::api
