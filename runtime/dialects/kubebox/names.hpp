#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "runtime/agent.hpp"
#include "sessions/command.hpp"
#include "sessions/session.hpp"

/// Maps the clients' ids of sessions and processes to those of the agent.
namespace skiff::runtime::dialects::kubebox {

/// The agent's id of a session: the client's own if it is a valid one, else a hash of it.
[[nodiscard]] std::string session_id(std::string_view of_client);
/// Finds the session with a client's id. Errors: session_not_found.
[[nodiscard]] Result<std::shared_ptr<sessions::Session>> find_session(const sessions::Registry& registry,
                                                                      std::string_view of_client);

/// The next process id. It is larger than every one before it, also those of an agent that ran here before. So a client
/// that has not noticed a restart cannot end another process. Reactor thread only.
[[nodiscard]] std::uint64_t new_process_id();
/// The agent's id of a process: "kubebox-N".
[[nodiscard]] std::string command_id(std::uint64_t process);
/// The process id in a command's id; nothing: this dialect has not started the command.
[[nodiscard]] std::optional<std::uint64_t> process_of(std::string_view command);
/// Finds the command of a process. Errors: command_not_found, also for an absent id.
[[nodiscard]] Result<std::shared_ptr<sessions::Command>> find_process(const sessions::Session& session,
                                                                      std::optional<std::uint64_t> process);

/// A line for stderr that says why a command was not started; empty: it was.
[[nodiscard]] std::string why_not_started(const sessions::ExitStatus& status);
/// A line for stderr in place of output that is no longer kept.
[[nodiscard]] std::string missing_output(std::uint64_t bytes);

}  // namespace skiff::runtime::dialects::kubebox
