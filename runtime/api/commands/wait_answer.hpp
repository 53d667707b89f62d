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

/// Composes the answer of mode wait: the command's output so far, cut to its head and tail if a stream is longer than
/// `max_bytes`, and its end if it has ended. Large answers take turns, fairly among clients; `who` is the client.
[[nodiscard]] Task<std::string> wait_result(Agent* agent, std::string who, std::shared_ptr<sessions::Command> command,
                                            std::size_t max_bytes);

/// The schema of that answer: the component CommandResult.
[[nodiscard]] std::vector<Member> result_members();
[[nodiscard]] protocol::SchemaRef result_schema();

}  // namespace skiff::runtime::api
