#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/drivers/local/host_process.hpp"
#include "container/drivers/local/record.hpp"
#include "protocol/net/stream.hpp"

/// The skiffd of a local sandbox: its program, arguments and environment.
namespace skiff::container {

/// The path of skiffd: beside this program, else on PATH. Otherwise a `sandbox_failed` error (no_agent) that names the
/// places.
[[nodiscard]] Result<std::string> find_skiffd();

[[nodiscard]] std::vector<std::string> agent_arguments(std::string skiffd, const LocalRecord& record,
                                                       const std::filesystem::path& root);

/// The environment that the sandbox's commands inherit: the few variables of ours that a usable shell needs (a sandbox
/// in a cluster has none of ours), the sandbox's own, and SANDBOX_ID, by which its remaining processes can be found.
/// Only the agent gets `public_key`: it removes SKIFF_* from the environment of commands.
[[nodiscard]] std::vector<std::string> agent_environment(const char* const* ours, const LocalRecord& record,
                                                         const std::string& public_key);

/// NAME=VALUE of the variable that marks the sandbox's processes.
[[nodiscard]] std::string sandbox_mark(std::string_view id);

/// An agent that was started and has printed nothing yet.
struct StartedAgent {
  HostProcess process;
  protocol::Stream output;  ///< its stdout
};

/// Starts the agent with an empty log, so that the log's end says why this agent ended.
[[nodiscard]] Result<StartedAgent> spawn_agent(Executor executor, std::string skiffd, const LocalRecord& record,
                                               const LocalRecords& records, const std::string& public_key);

/// Reads the ports from the `count` lines that the agent prints when it listens: its own, then those of its dialects.
/// Fails when the agent ends, or does not print them within `limit`.
[[nodiscard]] Task<Result<std::vector<std::uint16_t>>> read_ports(protocol::Stream output, std::size_t count,
                                                                  std::chrono::milliseconds limit);

/// The agents that serve this directory.
[[nodiscard]] std::vector<HostProcess> find_agents(const std::filesystem::path& root);

/// The last bytes of an agent's log, and the last few lines of a text.
[[nodiscard]] std::string log_end(const std::filesystem::path& path);
[[nodiscard]] std::string last_lines(std::string text);

}  // namespace skiff::container
