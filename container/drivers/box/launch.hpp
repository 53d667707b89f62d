#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/drivers/box/handover.hpp"
#include "container/drivers/box/steps.hpp"
#include "container/host/agent.hpp"

namespace skiff::container::box {

/// The name of the agent's socket in the directory of its sandbox.
inline constexpr std::string_view kAgentSocket = "agent.sock";
/// The name of the socket of a dialect's port.
[[nodiscard]] std::string socket_of(std::string_view dialect_port);

/// Binds a Unix socket of that name in the directory, which only its owner may enter. It replaces an older one.
[[nodiscard]] Result<UniqueFd> bind_socket(const std::filesystem::path& directory, const std::string& name);
/// Connects to it. `resource_exhausted` while its backlog is full.
[[nodiscard]] Result<UniqueFd> connect_socket(const std::filesystem::path& directory, const std::string& name);
/// The process that listens on it, as the kernel knows it; 0 if none does.
[[nodiscard]] pid_t listening_process(const std::filesystem::path& directory);
/// The process at the other end of a connection.
[[nodiscard]] pid_t peer_process(const UniqueFd& connection);

/// Creates the directories that the box writes to, for the user of the record.
[[nodiscard]] Result<> create_files(const HostRecord& record, const std::filesystem::path& root);

/// A `skiff box-init` that waits for its plan.
struct StartedBox {
  HostProcess process;
  protocol::Stream output;  ///< its stdout
  UniqueFd input;           ///< takes the handover
};

/// Starts `skiff box-init`. Its stderr is `errors` (-1: none).
[[nodiscard]] Result<StartedBox> start_box(Executor executor, int errors);

/// Asks the kernel whether this machine can have boxes: makes one without an agent, with a network if there are
/// arguments of pasta. Returns nullopt if it can.
[[nodiscard]] Task<Result<std::optional<Refusal>>> try_box(std::chrono::milliseconds limit,
                                                           std::vector<std::string> pasta = {});

}  // namespace skiff::container::box
