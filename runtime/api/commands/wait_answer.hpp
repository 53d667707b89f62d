#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "protocol/json/openapi.hpp"
#include "runtime/api/answers/schema_parts.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime {
struct Agent;
}

namespace skiff::runtime::api {

/// The answer of a WAIT: what a command has said so far, head and tail where it is more than `max_bytes` a stream, and
/// how it ended if it has. Large ones take turns, `who`'s among each other.
[[nodiscard]] Task<std::string> wait_result(Agent* agent, std::string who, std::shared_ptr<sessions::Command> command,
                                            std::size_t max_bytes);

/// How that is described: the component CommandResult.
[[nodiscard]] std::vector<Member> result_members();
[[nodiscard]] protocol::SchemaRef result_schema();

}  // namespace skiff::runtime::api
