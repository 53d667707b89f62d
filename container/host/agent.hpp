#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/host/host_process.hpp"
#include "container/host/record.hpp"
#include "protocol/net/stream.hpp"

/// The skiffd of a sandbox of this machine: its program, arguments and environment.
namespace skiff::container {

/// The path of skiffd: beside this program, else on PATH. Otherwise a `sandbox_failed` error (no_agent) that names the
/// places.
[[nodiscard]] Result<std::string> find_skiffd();

/// Where an agent runs, as it sees it.
struct AgentPlace {
  std::string program;
  std::string listen;                      ///< value of --listen
  std::string root;                        ///< value of --root
  std::vector<std::string> dialects = {};  ///< values of --dialect
  std::string e2b_home = {};               ///< value of --e2b-home; empty: none
};

[[nodiscard]] std::vector<std::string> agent_arguments(AgentPlace place, const HostRecord& record);

/// The place of an agent that listens on free ports of 127.0.0.1.
[[nodiscard]] AgentPlace local_place(std::string skiffd, const HostRecord& record, const std::filesystem::path& root);

/// The environment that the sandbox's commands inherit: the few variables of ours that a usable shell needs (a sandbox
/// in a cluster has none of ours), the sandbox's own, and SANDBOX_ID, by which its remaining processes can be found.
/// Only the agent gets `public_key`: it removes SKIFF_* from the environment of commands.
[[nodiscard]] std::vector<std::string> agent_environment(const char* const* ours, const HostRecord& record,
                                                         const std::string& public_key);

/// NAME=VALUE of the variable that marks the sandbox's processes.
[[nodiscard]] std::string sandbox_mark(std::string_view id);

/// An agent that was started and has printed nothing yet.
struct StartedAgent {
  HostProcess process;
  protocol::Stream output;  ///< its stdout
};

/// Starts an agent without isolation.
[[nodiscard]] Result<StartedAgent> spawn_agent(Executor executor, std::string skiffd, const HostRecord& record,
                                               const HostRecords& records, const std::string& public_key);

/// The lines that a starting agent prints.
class AgentLines {
 public:
  /// `limit`: longest wait for something to read.
  AgentLines(protocol::Stream output, std::chrono::milliseconds limit) : output_{std::move(output)}, limit_{limit} {}

  /// Returns the next line, without its newline. Fails when the agent ends, prints too much, or prints nothing.
  [[nodiscard]] Task<Result<std::string>> next();

 private:
  protocol::Stream output_;
  std::chrono::milliseconds limit_;
  std::string rest_;
};

/// Reads the ports from the `count` lines that the agent prints when it listens: its own, then those of its dialects.
[[nodiscard]] Task<Result<std::vector<std::uint16_t>>> read_ports(protocol::Stream output, std::size_t count,
                                                                  std::chrono::milliseconds limit);

/// Opens an empty log, so that its end says why this agent ended.
[[nodiscard]] Result<UniqueFd> open_log(const std::filesystem::path& path);

/// The agents that serve this directory.
[[nodiscard]] std::vector<HostProcess> find_agents(const std::filesystem::path& root);

/// The last bytes of an agent's log, and the last few lines of a text.
[[nodiscard]] std::string log_end(const std::filesystem::path& path);
[[nodiscard]] std::string last_lines(std::string text);

}  // namespace skiff::container
